; memory.ll - the memory that calls have for their temporaries and leave to the next ones; each object has it.
;
;   tensorc.take.1(workspace, bytes)   where the temporaries go: a block, or in the caller's workspace; null: no memory
;   tensorc.give.1(workspace, memory)  ends that
;   tensorc_release()                  frees all blocks that wait; runs also when the program or library ends
;
; A call takes one block at its entry and gives it back when it leaves. The blocks that are given back wait in slots, so
; that a later call finds its pages in place and asks neither malloc nor the kernel.
;
; A slot holds one word, which one atomic exchange takes: whoever has it owns the block. So any number of threads may
; call at once, and no lock is held over a fork. A block begins with the number of bytes behind its first 64, which only
; its owner reads.
;
; All objects of a program, or of a shared library, share the slots: what is here is in each of them, hidden, and
; linkers keep one copy. Whoever changes what the slots hold changes the number in the names: objects of two compilers
; may meet in one program.

$tensorc.slots.1 = comdat any
$tensorc.kept.1 = comdat any
@tensorc.slots.1 = linkonce_odr hidden global [32 x i64] zeroinitializer, comdat, align 64
@tensorc.kept.1 = linkonce_odr hidden global [1 x i64] zeroinitializer, comdat, align 64 ; bytes that wait

; Linkers run what is in this section when the program ends or the library is unloaded.
@tensorc.at_end = internal global ptr @tensorc_release, section ".fini_array", align 8
@llvm.compiler.used = appending global [1 x ptr] [ptr @tensorc.at_end], section "llvm.metadata"

declare void @free(ptr)
declare ptr @aligned_alloc(i64, i64)

; --- slots ------------------------------------------------------------------------------------------------------------

; What was in the slot, which is free from now on; 0: nothing. Looks before it exchanges: a thread that finds nothing
; takes no cache line from the others.
$tensorc.claim.1 = comdat any
define linkonce_odr hidden i64 @tensorc.claim.1(ptr %slot) nounwind comdat {
    %seen = load atomic i64, ptr %slot monotonic, align 8
    %empty = icmp eq i64 %seen, 0
    br i1 %empty, label %nothing, label %exchange
exchange:
    %block = atomicrmw xchg ptr %slot, i64 0 acquire, align 8
    %late = icmp eq i64 %block, 0
    br i1 %late, label %nothing, label %mine
mine:
    %head = inttoptr i64 %block to ptr
    %bytes = load i64, ptr %head
    %before = atomicrmw sub ptr @tensorc.kept.1, i64 %bytes monotonic, align 8
    ret i64 %block
nothing:
    ret i64 0
}

; Into a free slot; without one, or beyond the bytes that may wait, all blocks together, it is freed. 0: nothing.
$tensorc.put.1 = comdat any
define linkonce_odr hidden void @tensorc.put.1(i64 %block) nounwind comdat {
enter:
    %none = icmp eq i64 %block, 0
    br i1 %none, label %done, label %count
count:
    %head = inttoptr i64 %block to ptr
    %bytes = load i64, ptr %head
    %before = atomicrmw add ptr @tensorc.kept.1, i64 %bytes monotonic, align 8
    %kept = add i64 %before, %bytes
    %few = icmp ule i64 %kept, 1073741824
    br i1 %few, label %look, label %free
look:
    %i = phi i64 [ 0, %count ], [ %i.next, %next ]
    %slot = getelementptr inbounds [32 x i64], ptr @tensorc.slots.1, i64 0, i64 %i
    %seen = load atomic i64, ptr %slot monotonic, align 8
    %empty = icmp eq i64 %seen, 0
    br i1 %empty, label %try, label %next
try:
    %pair = cmpxchg ptr %slot, i64 0, i64 %block release monotonic, align 8
    %kept.here = extractvalue { i64, i1 } %pair, 1
    br i1 %kept.here, label %done, label %next
next:
    %i.next = add i64 %i, 1
    %more = icmp ult i64 %i.next, 32
    br i1 %more, label %look, label %free
free:
    %after = atomicrmw sub ptr @tensorc.kept.1, i64 %bytes monotonic, align 8
    call void @free(ptr %head)
    br label %done
done:
    ret void
}

$tensorc_release = comdat any
define weak_odr hidden void @tensorc_release() nounwind comdat {
enter:
    br label %again
again:
    %i = phi i64 [ 0, %enter ], [ %i.next, %again ]
    %slot = getelementptr inbounds [32 x i64], ptr @tensorc.slots.1, i64 0, i64 %i
    %block = call i64 @tensorc.claim.1(ptr %slot)
    %head = inttoptr i64 %block to ptr
    call void @free(ptr %head)
    %i.next = add i64 %i, 1
    %more = icmp ult i64 %i.next, 32
    br i1 %more, label %again, label %done
done:
    ret void
}

; --- blocks -----------------------------------------------------------------------------------------------------------

; A block that waits and is large enough; 0: none. One that is too small makes place for a larger one, so that there are
; never more blocks than there were calls at once.
$tensorc.waiting.1 = comdat any
define linkonce_odr hidden i64 @tensorc.waiting.1(i64 %wanted) nounwind comdat {
enter:
    br label %look
look:
    %i = phi i64 [ 0, %enter ], [ %i.next, %next ]
    %held = phi i64 [ 0, %enter ], [ %held.next, %next ]
    %slot = getelementptr inbounds [32 x i64], ptr @tensorc.slots.1, i64 0, i64 %i
    %block = call i64 @tensorc.claim.1(ptr %slot)
    %none = icmp eq i64 %block, 0
    br i1 %none, label %next, label %claimed
claimed:
    call void @tensorc.put.1(i64 %held)
    %head = inttoptr i64 %block to ptr
    %bytes = load i64, ptr %head
    %enough = icmp uge i64 %bytes, %wanted
    br i1 %enough, label %found, label %next
next:
    %held.next = phi i64 [ %held, %look ], [ %block, %claimed ]
    %i.next = add i64 %i, 1
    %more = icmp ult i64 %i.next, 32
    br i1 %more, label %look, label %nothing
found:
    ret i64 %block
nothing:
    %small = inttoptr i64 %held.next to ptr
    call void @free(ptr %small)
    ret i64 0
}

; A new block; 0: there is no memory. Blocks that wait are no reason to have none.
$tensorc.allocate.1 = comdat any
define linkonce_odr hidden i64 @tensorc.allocate.1(i64 %wanted) nounwind comdat {
enter:
    %all = add i64 %wanted, 64
    %first = call ptr @aligned_alloc(i64 64, i64 %all)
    %none = icmp eq ptr %first, null
    br i1 %none, label %release, label %made
release:
    call void @tensorc_release()
    %second = call ptr @aligned_alloc(i64 64, i64 %all)
    %none.still = icmp eq ptr %second, null
    br i1 %none.still, label %nothing, label %made
made:
    %head = phi ptr [ %first, %enter ], [ %second, %release ]
    store i64 %wanted, ptr %head
    %block = ptrtoint ptr %head to i64
    ret i64 %block
nothing:
    ret i64 0
}

; A workspace is used from its first multiple of the alignment on.
$tensorc.take.1 = comdat any
define weak_odr hidden noalias ptr @tensorc.take.1(ptr %workspace, i64 %wanted) nounwind comdat {
enter:
    %too.many = icmp uge i64 %wanted, 9223372036854775744 ; TOO_MANY_BYTES of llvm/code.h
    br i1 %too.many, label %nothing, label %choose
choose:
    %given = icmp ne ptr %workspace, null
    br i1 %given, label %align, label %wait
align:
    %address = ptrtoint ptr %workspace to i64
    %negative = sub i64 0, %address
    %missing = and i64 %negative, 63
    %aligned = getelementptr inbounds i8, ptr %workspace, i64 %missing
    ret ptr %aligned
wait:
    %waiting = call i64 @tensorc.waiting.1(i64 %wanted)
    %none = icmp eq i64 %waiting, 0
    br i1 %none, label %allocate, label %take
allocate:
    %new = call i64 @tensorc.allocate.1(i64 %wanted)
    %failed = icmp eq i64 %new, 0
    br i1 %failed, label %nothing, label %take
take:
    %block = phi i64 [ %waiting, %wait ], [ %new, %allocate ]
    %from = add i64 %block, 64
    %memory = inttoptr i64 %from to ptr
    ret ptr %memory
nothing:
    ret ptr null
}

$tensorc.give.1 = comdat any
define weak_odr hidden void @tensorc.give.1(ptr %workspace, ptr %memory) nounwind comdat {
    %given = icmp ne ptr %workspace, null
    br i1 %given, label %done, label %put
put:
    %from = ptrtoint ptr %memory to i64
    %block = sub i64 %from, 64
    call void @tensorc.put.1(i64 %block)
    br label %done
done:
    ret void
}
