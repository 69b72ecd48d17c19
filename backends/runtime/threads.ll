; threads.ll - the thread pool that runs parallel loops; it is linked into each object that has some.
;
;   tensorc.parallel.2(body, closure, extent, threads, most)
;                              body(closure, begin, end) for ranges that together are 0 to extent. There are to be so
;                              many threads (0: all), and at most so many take part
;   tensorc.thread_count.2()   how many threads there are: OMP_NUM_THREADS, or processors
;
; The caller divides the extent into parts, one for a thread, and each part into pieces. It opens a slot, wakes threads
; and begins with the first part itself. Who has finished a part goes on with pieces of others. So a thread that has no
; processor takes nothing, and the caller waits for pieces that were begun, never for a thread that was not. A call that
; finds no free slot, or no threads, runs the loop by itself.
;
; A thread that has nothing to do looks for a loop for a few microseconds, then it sleeps. What a loop wrote is seen by
; whoever runs the next one: slots are opened and left with release, entered and closed with acquire.
;
; All objects of a program, or of a shared library, share the pool: what is here is in each of them, hidden, and linkers
; keep one copy. Whoever changes what the variables hold changes the number in the names: objects of two compilers may
; meet in one program.
; Threads start with the first loop, and end with the program or with dlclose. A child of fork has none, and starts its
; own. They take no signals.

; The pieces of [next, end) that nobody has taken have so many values.
%part = type { i64, i64, i64, [5 x i64] } ; next, end, step; a cache line
%job = type { ptr, ptr, i64, ptr, i32 }   ; body, closure, number of parts, parts, the caller's processor
; The state counts 4 for each thread inside; 1: open, threads may enter; 2: the caller has it, and sleeps if it is not
; open. The high half tells the calls apart that had the slot.
%slot = type { i64, ptr, [6 x i64] } ; state, job; a cache line
%list = type { i64, ptr, i64, i64 }  ; of threads: how many there are, them, how many were asked for; 1: fork is watched
%time = type { i64, i64 }            ; seconds, nanoseconds

$tensorc.slots.threads.2 = comdat any
$tensorc.epoch.2 = comdat any
$tensorc.sleepers.2 = comdat any
$tensorc.ended.2 = comdat any
$tensorc.list.2 = comdat any
$tensorc.default.2 = comdat any
$tensorc.lock.2 = comdat any
$tensorc.opened.2 = comdat any
$tensorc.left.2 = comdat any
@tensorc.slots.threads.2 = linkonce_odr hidden global [64 x %slot] zeroinitializer, comdat, align 64
@tensorc.epoch.2 = linkonce_odr hidden global [8 x i64] zeroinitializer, comdat, align 64 ; how many slots were opened
@tensorc.sleepers.2 = linkonce_odr hidden global [8 x i64] zeroinitializer, comdat, align 64 ; threads
@tensorc.ended.2 = linkonce_odr hidden global i64 0, comdat, align 8     ; 1: threads end, and no more are started
@tensorc.list.2 = linkonce_odr hidden global %list zeroinitializer, comdat, align 8
@tensorc.default.2 = linkonce_odr hidden global i64 0, comdat, align 8   ; threads of a call; 0: not known yet
; As large as a mutex and conditions of any C library; zero is how they begin.
@tensorc.lock.2 = linkonce_odr hidden global [16 x i64] zeroinitializer, comdat, align 64
@tensorc.opened.2 = linkonce_odr hidden global [16 x i64] zeroinitializer, comdat, align 64
@tensorc.left.2 = linkonce_odr hidden global [16 x i64] zeroinitializer, comdat, align 64

@tensorc.variable = private unnamed_addr constant [16 x i8] c"OMP_NUM_THREADS\00"
; Linkers run what is in this section when the program ends or the library is unloaded.
@tensorc.at_end.threads = internal global ptr @tensorc.end.2, section ".fini_array", align 8
@llvm.compiler.used = appending global [1 x ptr] [ptr @tensorc.at_end.threads], section "llvm.metadata"

declare i32 @clock_gettime(i32, ptr)
declare ptr @getenv(ptr)
declare i64 @strtol(ptr, ptr, i32)
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i32 @sched_getcpu()
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
declare i32 @sigfillset(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_atfork(ptr, ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.umin.i64(i64, i64)

; --- waiting ----------------------------------------------------------------------------------------------------------

$tensorc.now.2 = comdat any
define linkonce_odr hidden i64 @tensorc.now.2() nounwind comdat { ; nanoseconds
    %time = alloca %time
    %failed = call i32 @clock_gettime(i32 1, ptr %time) ; CLOCK_MONOTONIC
    %seconds = load i64, ptr %time
    %rest.at = getelementptr inbounds %time, ptr %time, i64 0, i32 1
    %rest = load i64, ptr %rest.at
    %whole = mul i64 %seconds, 1000000000
    %now = add i64 %whole, %rest
    ret i64 %now
}

; For so long a thread looks for something to do before it sleeps: till when, and a moment of that; false: it is over.
$tensorc.spin_end.2 = comdat any
define linkonce_odr hidden i64 @tensorc.spin_end.2() nounwind comdat {
    %now = call i64 @tensorc.now.2()
    %end = add i64 %now, 50000
    ret i64 %end
}

$tensorc.relax.2 = comdat any
define linkonce_odr hidden void @tensorc.relax.2() nounwind comdat {
    call void asm sideeffect "RELAX", ""() ; the processor's instruction for loops that wait: families.def
    ret void
}

$tensorc.pause.2 = comdat any
define linkonce_odr hidden i1 @tensorc.pause.2(i64 %end) nounwind comdat {
    call void @tensorc.relax.2()
    call void @tensorc.relax.2()
    call void @tensorc.relax.2()
    call void @tensorc.relax.2()
    %now = call i64 @tensorc.now.2()
    %early = icmp slt i64 %now, %end
    ret i1 %early
}

; --- pieces -----------------------------------------------------------------------------------------------------------

; Runs the pieces of one part until none is left.
$tensorc.run_part.2 = comdat any
define linkonce_odr hidden void @tensorc.run_part.2(ptr %job, ptr %part) comdat {
enter:
    %body = load ptr, ptr %job
    %closure.at = getelementptr inbounds %job, ptr %job, i64 0, i32 1
    %closure = load ptr, ptr %closure.at
    %end.at = getelementptr inbounds %part, ptr %part, i64 0, i32 1
    %end = load i64, ptr %end.at
    %step.at = getelementptr inbounds %part, ptr %part, i64 0, i32 2
    %step = load i64, ptr %step.at
    br label %again
again: ; looks before it takes: threads that find nothing leave the line where it is
    %next = load atomic i64, ptr %part monotonic, align 8
    %some = icmp slt i64 %next, %end
    br i1 %some, label %take, label %done
take:
    %begin = atomicrmw add ptr %part, i64 %step monotonic, align 8
    %mine = icmp slt i64 %begin, %end
    br i1 %mine, label %piece, label %done
piece:
    %last = add i64 %begin, %step
    %stop = call i64 @llvm.umin.i64(i64 %last, i64 %end)
    call void %body(ptr %closure, i64 %begin, i64 %stop)
    br label %again
done:
    ret void
}

; All parts, from the first one of this thread on.
$tensorc.run.2 = comdat any
define linkonce_odr hidden void @tensorc.run.2(ptr %job, i64 %first) comdat {
enter:
    %count.at = getelementptr inbounds %job, ptr %job, i64 0, i32 2
    %count = load i64, ptr %count.at
    %parts.at = getelementptr inbounds %job, ptr %job, i64 0, i32 3
    %parts = load ptr, ptr %parts.at
    br label %again
again:
    %i = phi i64 [ 0, %enter ], [ %i.next, %again ]
    %sum = add i64 %first, %i
    %which = urem i64 %sum, %count
    %part = getelementptr inbounds %part, ptr %parts, i64 %which
    call void @tensorc.run_part.2(ptr %job, ptr %part)
    %i.next = add i64 %i, 1
    %more = icmp ult i64 %i.next, %count
    br i1 %more, label %again, label %done
done:
    ret void
}

; --- threads ----------------------------------------------------------------------------------------------------------

; Moves the thread to another processor than this one, if it may run on another; later it may run on all as before.
; Systems wake a thread where the one runs that wakes it, while all others are busy with other programs: there it would
; only take turns with the caller.
$tensorc.move.2 = comdat any
define linkonce_odr hidden void @tensorc.move.2(i32 %processor) nounwind comdat {
    %set = alloca [1024 x i64]
    %failed = call i32 @sched_getaffinity(i32 0, i64 8192, ptr %set)
    %known = icmp eq i32 %failed, 0
    %within = icmp ult i32 %processor, 65536
    %can = and i1 %known, %within
    br i1 %can, label %move, label %done
move:
    %number = zext i32 %processor to i64
    %word = lshr i64 %number, 6
    %place = getelementptr inbounds [1024 x i64], ptr %set, i64 0, i64 %word
    %before = load i64, ptr %place
    %low = and i64 %number, 63
    %bit = shl i64 1, %low
    %others = xor i64 %bit, -1
    %without = and i64 %before, %others
    store i64 %without, ptr %place
    %moved = call i32 @sched_setaffinity(i32 0, i64 8192, ptr %set)
    %has = icmp eq i32 %moved, 0
    br i1 %has, label %restore, label %done
restore:
    store i64 %before, ptr %place
    %restored = call i32 @sched_setaffinity(i32 0, i64 8192, ptr %set)
    br label %done
done:
    ret void
}

; Takes part in the call that has the slot, if there is one that is not at its end. The last one to leave wakes the
; caller. After that the job is gone.
$tensorc.help.2 = comdat any
define linkonce_odr hidden void @tensorc.help.2(ptr %slot, i64 %index) comdat {
    %state = load atomic i64, ptr %slot monotonic, align 8
    %open = trunc i64 %state to i1
    br i1 %open, label %try, label %done
try:
    %inside = add i64 %state, 4
    %pair = cmpxchg ptr %slot, i64 %state, i64 %inside acquire monotonic, align 8
    %entered = extractvalue { i64, i1 } %pair, 1
    br i1 %entered, label %work, label %done
work:
    %job.at = getelementptr inbounds %slot, ptr %slot, i64 0, i32 1
    %job = load ptr, ptr %job.at
    %callers.at = getelementptr inbounds %job, ptr %job, i64 0, i32 4
    %callers = load i32, ptr %callers.at
    %own = call i32 @sched_getcpu()
    %shared = icmp eq i32 %own, %callers
    br i1 %shared, label %move, label %run
move:
    call void @tensorc.move.2(i32 %callers)
    br label %run
run:
    call void @tensorc.run.2(ptr %job, i64 %index)
    %before = atomicrmw sub ptr %slot, i64 4 release, align 8
    %low = and i64 %before, 4294967295
    %last = icmp eq i64 %low, 6 ; this one, and the caller sleeps
    br i1 %last, label %wake, label %done
wake:
    %locked = call i32 @pthread_mutex_lock(ptr @tensorc.lock.2)
    %woken = call i32 @pthread_cond_broadcast(ptr @tensorc.left.2)
    %unlocked = call i32 @pthread_mutex_unlock(ptr @tensorc.lock.2)
    br label %done
done:
    ret void
}

; Until another slot was opened than those that were seen, or the threads are to end.
$tensorc.sleep.2 = comdat any
define linkonce_odr hidden void @tensorc.sleep.2(i64 %seen) nounwind comdat {
    %end = call i64 @tensorc.spin_end.2()
    br label %look
look:
    %epoch = load atomic i64, ptr @tensorc.epoch.2 acquire, align 8
    %old = icmp eq i64 %epoch, %seen
    br i1 %old, label %pause, label %done
pause:
    %early = call i1 @tensorc.pause.2(i64 %end)
    br i1 %early, label %look, label %lie.down
lie.down:
    %locked = call i32 @pthread_mutex_lock(ptr @tensorc.lock.2)
    %before = atomicrmw add ptr @tensorc.sleepers.2, i64 1 seq_cst, align 8
    br label %again
again:
    %now = load atomic i64, ptr @tensorc.epoch.2 seq_cst, align 8
    %same = icmp eq i64 %now, %seen
    %ended = load atomic i64, ptr @tensorc.ended.2 monotonic, align 8
    %lives = icmp eq i64 %ended, 0
    %waits = and i1 %same, %lives
    br i1 %waits, label %wait, label %get.up
wait:
    %woken = call i32 @pthread_cond_wait(ptr @tensorc.opened.2, ptr @tensorc.lock.2)
    br label %again
get.up:
    %after = atomicrmw sub ptr @tensorc.sleepers.2, i64 1 seq_cst, align 8
    %unlocked = call i32 @pthread_mutex_unlock(ptr @tensorc.lock.2)
    br label %done
done:
    ret void
}

; A thread of the pool. The n-th one begins with the n-th part, so that what it wrote in a loop is near in the next one.
$tensorc.thread.2 = comdat any
define linkonce_odr hidden ptr @tensorc.thread.2(ptr %index.given) comdat {
enter:
    %index = ptrtoint ptr %index.given to i64
    br label %again
again:
    %seen = phi i64 [ 0, %enter ], [ %epoch, %look.done ]
    call void @tensorc.sleep.2(i64 %seen)
    %epoch = load atomic i64, ptr @tensorc.epoch.2 acquire, align 8
    %ended = load atomic i64, ptr @tensorc.ended.2 monotonic, align 8
    %lives = icmp eq i64 %ended, 0
    br i1 %lives, label %look, label %end
look:
    %i = phi i64 [ 0, %again ], [ %i.next, %look ]
    %slot = getelementptr inbounds [64 x %slot], ptr @tensorc.slots.threads.2, i64 0, i64 %i
    call void @tensorc.help.2(ptr %slot, i64 %index)
    %i.next = add i64 %i, 1
    %more = icmp ult i64 %i.next, 64
    br i1 %more, label %look, label %look.done
look.done:
    br label %again
end:
    ret ptr null
}

; Adds a thread to the list; false: there is none.
$tensorc.add_thread.2 = comdat any
define linkonce_odr hidden i1 @tensorc.add_thread.2() nounwind comdat {
    %count = load i64, ptr @tensorc.list.2
    %threads.at = getelementptr inbounds %list, ptr @tensorc.list.2, i64 0, i32 1
    %threads = load ptr, ptr %threads.at
    %index = add i64 %count, 1
    %bytes = mul i64 %index, 8
    %moved = call ptr @realloc(ptr %threads, i64 %bytes)
    %none = icmp eq ptr %moved, null
    br i1 %none, label %no, label %create
create:
    store ptr %moved, ptr %threads.at
    %thread = getelementptr inbounds i64, ptr %moved, i64 %count
    %index.given = inttoptr i64 %index to ptr
    %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @tensorc.thread.2, ptr %index.given)
    %made = icmp eq i32 %failed, 0
    br i1 %made, label %yes, label %no
yes:
    store i64 %index, ptr @tensorc.list.2
    ret i1 true
no:
    ret i1 false
}

; Sees to it that there are so many threads beside a caller, if they can be had. They are asked for once.
$tensorc.start.2 = comdat any
define linkonce_odr hidden void @tensorc.start.2(i64 %wanted) nounwind comdat {
enter:
    %all = alloca [16 x i64]
    %before = alloca [16 x i64]
    %locked = call i32 @pthread_mutex_lock(ptr @tensorc.lock.2)
    %asked.at = getelementptr inbounds %list, ptr @tensorc.list.2, i64 0, i32 2
    %asked = load atomic i64, ptr %asked.at monotonic, align 8
    %fewer = icmp slt i64 %asked, %wanted
    %ended = load atomic i64, ptr @tensorc.ended.2 monotonic, align 8
    %lives = icmp eq i64 %ended, 0
    %starts = and i1 %fewer, %lives
    br i1 %starts, label %start, label %done
start:
    %watched.at = getelementptr inbounds %list, ptr @tensorc.list.2, i64 0, i32 3
    %watched = load i64, ptr %watched.at
    %first = icmp eq i64 %watched, 0
    br i1 %first, label %watch, label %create
watch:
    %failed = call i32 @pthread_atfork(ptr null, ptr null, ptr @tensorc.forked.2)
    store i64 1, ptr %watched.at
    br label %create
create:
    %filled = call i32 @sigfillset(ptr %all)
    %masked = call i32 @pthread_sigmask(i32 2, ptr %all, ptr %before) ; SIG_SETMASK
    br label %again
again:
    %count = load i64, ptr @tensorc.list.2
    %enough = icmp sge i64 %count, %wanted
    br i1 %enough, label %created, label %one.more
one.more:
    %made = call i1 @tensorc.add_thread.2()
    br i1 %made, label %again, label %created
created:
    %unmasked = call i32 @pthread_sigmask(i32 2, ptr %before, ptr null)
    store atomic i64 %wanted, ptr %asked.at release, align 8
    br label %done
done:
    %unlocked = call i32 @pthread_mutex_unlock(ptr @tensorc.lock.2)
    ret void
}

; A child of fork has one thread, the one that called it: the others' calls are not in it.
$tensorc.forked.2 = comdat any
define linkonce_odr hidden void @tensorc.forked.2() nounwind comdat {
    store i64 0, ptr @tensorc.list.2
    %asked.at = getelementptr inbounds %list, ptr @tensorc.list.2, i64 0, i32 2
    store atomic i64 0, ptr %asked.at monotonic, align 8
    call void @llvm.memset.p0.i64(ptr @tensorc.slots.threads.2, i8 0, i64 4096, i1 false)
    call void @llvm.memset.p0.i64(ptr @tensorc.epoch.2, i8 0, i64 64, i1 false)
    call void @llvm.memset.p0.i64(ptr @tensorc.sleepers.2, i8 0, i64 64, i1 false)
    call void @llvm.memset.p0.i64(ptr @tensorc.lock.2, i8 0, i64 128, i1 false)
    call void @llvm.memset.p0.i64(ptr @tensorc.opened.2, i8 0, i64 128, i1 false)
    call void @llvm.memset.p0.i64(ptr @tensorc.left.2, i8 0, i64 128, i1 false)
    ret void
}

; What the end of the program or of the library runs. Calls that are not at their end, and later ones, finish alone.
$tensorc.end.2 = comdat any
define linkonce_odr hidden void @tensorc.end.2() nounwind comdat {
enter:
    %locked = call i32 @pthread_mutex_lock(ptr @tensorc.lock.2)
    store atomic i64 1, ptr @tensorc.ended.2 monotonic, align 8
    %moved = atomicrmw add ptr @tensorc.epoch.2, i64 1 seq_cst, align 8
    %woken = call i32 @pthread_cond_broadcast(ptr @tensorc.opened.2)
    %count = load i64, ptr @tensorc.list.2
    store i64 0, ptr @tensorc.list.2
    %threads.at = getelementptr inbounds %list, ptr @tensorc.list.2, i64 0, i32 1
    %threads = load ptr, ptr %threads.at
    store ptr null, ptr %threads.at
    %unlocked = call i32 @pthread_mutex_unlock(ptr @tensorc.lock.2)
    br label %again
again:
    %i = phi i64 [ 0, %enter ], [ %i.next, %join ]
    %more = icmp ult i64 %i, %count
    br i1 %more, label %join, label %done
join:
    %thread.at = getelementptr inbounds i64, ptr %threads, i64 %i
    %thread = load i64, ptr %thread.at
    %failed = call i32 @pthread_join(i64 %thread, ptr null)
    %i.next = add i64 %i, 1
    br label %again
done:
    call void @free(ptr %threads)
    ret void
}

; --- calls ------------------------------------------------------------------------------------------------------------

$tensorc.processors.2 = comdat any
define linkonce_odr hidden i64 @tensorc.processors.2() nounwind comdat { ; those that this process may use
enter:
    %set = alloca [1024 x i64]
    call void @llvm.memset.p0.i64(ptr %set, i8 0, i64 8192, i1 false)
    %failed = call i32 @sched_getaffinity(i32 0, i64 8192, ptr %set)
    br label %again
again:
    %i = phi i64 [ 0, %enter ], [ %i.next, %again ]
    %sum = phi i64 [ 0, %enter ], [ %sum.next, %again ]
    %word.at = getelementptr inbounds i64, ptr %set, i64 %i
    %word = load i64, ptr %word.at
    %ones = call i64 @llvm.ctpop.i64(i64 %word)
    %sum.next = add i64 %sum, %ones
    %i.next = add i64 %i, 1
    %more = icmp ult i64 %i.next, 1024
    br i1 %more, label %again, label %done
done:
    ret i64 %sum.next
}

; The first answer is that of all questions: workspaces have as many slices.
$tensorc.thread_count.2 = comdat any
define weak_odr hidden i64 @tensorc.thread_count.2() nounwind comdat {
    %known = load atomic i64, ptr @tensorc.default.2 monotonic, align 8
    %new = icmp eq i64 %known, 0
    br i1 %new, label %ask, label %answer
ask:
    %text = call ptr @getenv(ptr @tensorc.variable)
    %none = icmp eq ptr %text, null
    br i1 %none, label %count, label %read
read:
    %number = call i64 @strtol(ptr %text, ptr null, i32 10)
    %positive = icmp sgt i64 %number, 0
    br i1 %positive, label %keep, label %count
count:
    %processors = call i64 @tensorc.processors.2()
    %any = icmp sgt i64 %processors, 0
    %at.least.one = select i1 %any, i64 %processors, i64 1
    br label %keep
keep:
    %threads = phi i64 [ %number, %read ], [ %at.least.one, %count ]
    %pair = cmpxchg ptr @tensorc.default.2, i64 0, i64 %threads monotonic monotonic, align 8
    %again = load atomic i64, ptr @tensorc.default.2 monotonic, align 8
    ret i64 %again
answer:
    ret i64 %known
}

; A free slot, which is then this call's; null: there is none.
$tensorc.take_slot.2 = comdat any
define linkonce_odr hidden ptr @tensorc.take_slot.2() nounwind comdat {
enter:
    br label %again
again:
    %i = phi i64 [ 0, %enter ], [ %i.next, %next ]
    %slot = getelementptr inbounds [64 x %slot], ptr @tensorc.slots.threads.2, i64 0, i64 %i
    %state = load atomic i64, ptr %slot monotonic, align 8
    %low = and i64 %state, 4294967295
    %free = icmp eq i64 %low, 0
    br i1 %free, label %try, label %next
try:
    %taken = or i64 %state, 2
    %pair = cmpxchg ptr %slot, i64 %state, i64 %taken acquire monotonic, align 8
    %mine = extractvalue { i64, i1 } %pair, 1
    br i1 %mine, label %found, label %next
next:
    %i.next = add i64 %i, 1
    %more = icmp ult i64 %i.next, 64
    br i1 %more, label %again, label %none
found:
    ret ptr %slot
none:
    ret ptr null
}

; Divides 0 to extent into parts, as evenly as whole numbers are, of four pieces each.
$tensorc.divide.2 = comdat any
define linkonce_odr hidden void @tensorc.divide.2(ptr %parts, i64 %count, i64 %extent) nounwind comdat {
enter:
    %share = udiv i64 %extent, %count
    %rest = urem i64 %extent, %count
    br label %again
again:
    %i = phi i64 [ 0, %enter ], [ %i.next, %again ]
    %begin = phi i64 [ 0, %enter ], [ %end, %again ]
    %larger = icmp ult i64 %i, %rest
    %one = zext i1 %larger to i64
    %length = add i64 %share, %one
    %end = add i64 %begin, %length
    %rounded = add i64 %length, 3
    %step = lshr i64 %rounded, 2
    %part = getelementptr inbounds %part, ptr %parts, i64 %i
    store i64 %begin, ptr %part
    %end.at = getelementptr inbounds %part, ptr %part, i64 0, i32 1
    store i64 %end, ptr %end.at
    %step.at = getelementptr inbounds %part, ptr %part, i64 0, i32 2
    store i64 %step, ptr %step.at
    %i.next = add i64 %i, 1
    %more = icmp ult i64 %i.next, %count
    br i1 %more, label %again, label %done
done:
    ret void
}

; Tells the threads that a slot is open: those that look see it; of those that sleep it wakes as many as have a part.
$tensorc.call_threads.2 = comdat any
define linkonce_odr hidden void @tensorc.call_threads.2(i64 %parts) nounwind comdat {
enter:
    %before = atomicrmw add ptr @tensorc.epoch.2, i64 1 seq_cst, align 8
    %sleepers = load atomic i64, ptr @tensorc.sleepers.2 seq_cst, align 8
    %none = icmp eq i64 %sleepers, 0
    br i1 %none, label %done, label %wake
wake:
    %locked = call i32 @pthread_mutex_lock(ptr @tensorc.lock.2)
    %all = icmp ult i64 %sleepers, %parts
    br i1 %all, label %wake.all, label %wake.one
wake.all:
    %woken = call i32 @pthread_cond_broadcast(ptr @tensorc.opened.2)
    br label %woken.up
wake.one:
    %i = phi i64 [ 1, %wake ], [ %i.next, %wake.one ]
    %one = call i32 @pthread_cond_signal(ptr @tensorc.opened.2)
    %i.next = add i64 %i, 1
    %more = icmp ult i64 %i.next, %parts
    br i1 %more, label %wake.one, label %woken.up
woken.up:
    %unlocked = call i32 @pthread_mutex_unlock(ptr @tensorc.lock.2)
    br label %done
done:
    ret void
}

; Waits until a thread leaves a slot, at most for 0.2 ms; the lock is held. A processor that falls idle takes threads
; over that wait for another one, but none that ran a moment ago: so it falls idle again and again, and one that another
; program has put off, with a piece that was begun, goes on here.
$tensorc.nap.2 = comdat any
define linkonce_odr hidden void @tensorc.nap.2() nounwind comdat {
    %until = alloca %time
    %failed = call i32 @clock_gettime(i32 0, ptr %until) ; CLOCK_REALTIME, which conditions go by
    %rest.at = getelementptr inbounds %time, ptr %until, i64 0, i32 1
    %rest = load i64, ptr %rest.at
    %later = add i64 %rest, 200000
    %over = icmp sge i64 %later, 1000000000
    %less = sub i64 %later, 1000000000
    %rest.then = select i1 %over, i64 %less, i64 %later
    store i64 %rest.then, ptr %rest.at
    %seconds = load i64, ptr %until
    %one = zext i1 %over to i64
    %seconds.then = add i64 %seconds, %one
    store i64 %seconds.then, ptr %until
    %woken = call i32 @pthread_cond_timedwait(ptr @tensorc.left.2, ptr @tensorc.lock.2, ptr %until)
    ret void
}

; Closes the slot and waits for those inside. Then it is free again.
$tensorc.close.2 = comdat any
define linkonce_odr hidden void @tensorc.close.2(ptr %slot) nounwind comdat {
    %before = atomicrmw and ptr %slot, i64 -2 acquire, align 8
    %inside = and i64 %before, 4294967292
    %alone = icmp eq i64 %inside, 0
    br i1 %alone, label %leave, label %look
look: ; they are likely to be ready soon
    %end = call i64 @tensorc.spin_end.2()
    br label %look.again
look.again:
    %state = load atomic i64, ptr %slot acquire, align 8
    %still = and i64 %state, 4294967292
    %empty = icmp eq i64 %still, 0
    br i1 %empty, label %leave, label %pause
pause:
    %early = call i1 @tensorc.pause.2(i64 %end)
    br i1 %early, label %look.again, label %lie.down
lie.down:
    %locked = call i32 @pthread_mutex_lock(ptr @tensorc.lock.2)
    %asleep = atomicrmw or ptr %slot, i64 2 acquire, align 8
    br label %again
again:
    %now = load atomic i64, ptr %slot acquire, align 8
    %others = and i64 %now, 4294967292
    %ready = icmp eq i64 %others, 0
    br i1 %ready, label %get.up, label %wait
wait:
    call void @tensorc.nap.2()
    br label %again
get.up:
    %unlocked = call i32 @pthread_mutex_unlock(ptr @tensorc.lock.2)
    br label %leave
leave:
    %last = load atomic i64, ptr %slot acquire, align 8
    %high = and i64 %last, -4294967296
    %next = add i64 %high, 4294967296
    store atomic i64 %next, ptr %slot release, align 8
    ret void
}

$tensorc.parallel.2 = comdat any
define weak_odr hidden void @tensorc.parallel.2(ptr %body, ptr %closure, i64 %extent, i64 %threads, i64 %parts.most)
        comdat {
    %job = alloca %job
    %given = icmp sgt i64 %threads, 0
    br i1 %given, label %start, label %ask
ask:
    %all = call i64 @tensorc.thread_count.2()
    br label %start
start:
    %most = phi i64 [ %threads, %0 ], [ %all, %ask ]
    %taken = call i64 @llvm.umin.i64(i64 %most, i64 %parts.most)
    %count = call i64 @llvm.umin.i64(i64 %taken, i64 %extent)
    %several = icmp ugt i64 %count, 1
    br i1 %several, label %look, label %alone
look:
    %asked.at = getelementptr inbounds %list, ptr @tensorc.list.2, i64 0, i32 2
    %asked = load atomic i64, ptr %asked.at acquire, align 8
    %wanted = sub i64 %most, 1
    %fewer = icmp slt i64 %asked, %wanted
    br i1 %fewer, label %create, label %take
create:
    call void @tensorc.start.2(i64 %wanted)
    br label %take
take:
    %slot = call ptr @tensorc.take_slot.2()
    %none = icmp eq ptr %slot, null
    br i1 %none, label %alone, label %share
share:
    %parts = alloca %part, i64 %count, align 64
    call void @tensorc.divide.2(ptr %parts, i64 %count, i64 %extent)
    store ptr %body, ptr %job
    %closure.at = getelementptr inbounds %job, ptr %job, i64 0, i32 1
    store ptr %closure, ptr %closure.at
    %count.at = getelementptr inbounds %job, ptr %job, i64 0, i32 2
    store i64 %count, ptr %count.at
    %parts.at = getelementptr inbounds %job, ptr %job, i64 0, i32 3
    store ptr %parts, ptr %parts.at
    %processor.at = getelementptr inbounds %job, ptr %job, i64 0, i32 4
    %processor = call i32 @sched_getcpu()
    store i32 %processor, ptr %processor.at
    %job.at = getelementptr inbounds %slot, ptr %slot, i64 0, i32 1
    store ptr %job, ptr %job.at
    %opened = atomicrmw xor ptr %slot, i64 3 release, align 8 ; taken becomes open
    call void @tensorc.call_threads.2(i64 %count)
    call void @tensorc.run.2(ptr %job, i64 0)
    call void @tensorc.close.2(ptr %slot)
    ret void
alone:
    call void %body(ptr %closure, i64 0, i64 %extent)
    ret void
}
