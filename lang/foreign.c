/* foreign.c - see foreign.h. The names are not reserved: they are looked up when an error is explained, in upper and in
 * lower case. */
#include "lang/foreign.h"
#include "lang/spelling.h"

#include <string.h>
#include <strings.h>

ElementType foreign_type(const char *name) {
    static const struct {
        const char *name;
        ElementType type;
    } types[] = {
        {"int", TYPE_INT32},       {"long", TYPE_INT64},      {"short", TYPE_INT16},     {"char", TYPE_INT8},
        {"byte", TYPE_UINT8},      {"uint", TYPE_UINT32},     {"unsigned", TYPE_UINT32}, {"size_t", TYPE_INT64},
        {"integer", TYPE_INT32},   {"real", TYPE_FLOAT},      {"i8", TYPE_INT8},         {"i16", TYPE_INT16},
        {"i32", TYPE_INT32},       {"i64", TYPE_INT64},       {"u8", TYPE_UINT8},        {"u16", TYPE_UINT16},
        {"u32", TYPE_UINT32},      {"u64", TYPE_UINT64},      {"int8_t", TYPE_INT8},     {"int16_t", TYPE_INT16},
        {"int32_t", TYPE_INT32},   {"int64_t", TYPE_INT64},   {"uint8_t", TYPE_UINT8},   {"uint16_t", TYPE_UINT16},
        {"uint32_t", TYPE_UINT32}, {"uint64_t", TYPE_UINT64}, {"f16", TYPE_HALF},        {"f32", TYPE_FLOAT},
        {"f64", TYPE_DOUBLE},      {"fp16", TYPE_HALF},       {"fp32", TYPE_FLOAT},      {"fp64", TYPE_DOUBLE},
        {"bf16", TYPE_BFLOAT16},   {"single", TYPE_FLOAT},    {"_Float16", TYPE_HALF},   {"__bf16", TYPE_BFLOAT16},
        {"boolean", TYPE_BOOL},    {"_Bool", TYPE_BOOL},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcasecmp(types[i].name, name) == 0)
            return types[i].type;
    return TYPE_COUNT;
}

const char *nearest_type(const char *name) {
    const char *spellings[TYPE_COUNT];
    for (int type = 0; type < TYPE_COUNT; type++)
        spellings[type] = element_info[type].spelling;
    return spelling_nearest(name, spellings, TYPE_COUNT);
}

const char *foreign_target(const char *name) {
    static const char *const names[][2] = {
        {"native", "host"},       {"local", "host"},      {"generic", "x86-64"},
        {"amd64", "x86-64"},      {"x86_64", "x86-64"},   {"x64", "x86-64"},
        {"x86", "x86-64"},        {"sse2", "x86-64"},     {"sse4", "x86-64-v2"},
        {"avx", "x86-64-v3"},     {"avx2", "x86-64-v3"},  {"avx512", "x86-64-v4"},
        {"avx512f", "x86-64-v4"}, {"arm64", "aarch64"},   {"arm", "aarch64"},
        {"armv8", "aarch64"},     {"armv8-a", "aarch64"}, {"aarch64-linux", "aarch64"},
        {"neon", "aarch64"},      {"zen", "znver1"},      {"zen2", "znver2"},
        {"zen3", "znver3"},       {"zen4", "znver4"},     {"m1", "apple-m1"},
        {"m2", "apple-m2"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(names[i][0], name) == 0)
            return names[i][1];
    return NULL;
}

static const char truth[] = "a bool is written bool(1) or bool(0)";
static const char infinite[] = "infinity is written 1.0 / 0.0; max=! and min=! begin with it by themselves";
static const char number[] = "NaN is written 0.0 / 0.0; only NaN differs from itself: x != x";
static const char circle[] = "write the number: 3.141592653589793";
static const char sum[] = "a sum over an index is an assignment: s(i) +=! A(i, j) sums over j";
static const char mean[] = "a mean is a sum divided by the extent: s(i) +=! A(i, j), then s(i) / float(N)";
static const char product[] = "a product over an index is an assignment: p(i) *=! A(i, j) multiplies over j";
static const char matrix[] = "a matrix product is a sum: C(i, j) +=! A(i, k) * B(k, j)";
static const char choice[] = "a choice is written condition ? a : b";
static const char sizes[] = "the sizes of a tensor A are A.0, A.1, ...";
static const char counting[] = "an index takes every value of its range: where i in 0:N";
static const char filled[] = "a tensor is filled by an assignment: A(i) = 0.0 where i in 0:N";
static const char transposed[] = "write the indices in the other order: B(j, i) = A(i, j)";
static const char limits[] = "a value is kept between limits by min(max(x, low), high)";
static const char power[] = "a power is written pow(x, y)";
static const char place[] = "import \"nn\" has combiners for it: best(i), at(i) argmax=! (A(i, j), j)";

static const struct {
    const char *name, *hint;
} names[] = {
    {"true", truth},
    {"false", truth},
    {"inf", infinite},
    {"infinity", infinite},
    {"nan", number},
    {"pi", circle},
    {"M_PI", circle},
    {"sum", sum},
    {"reduce_sum", sum},
    {"mean", mean},
    {"average", mean},
    {"prod", product},
    {"product", product},
    {"matmul", matrix},
    {"mm", matrix},
    {"bmm", matrix},
    {"dot", matrix},
    {"gemm", matrix},
    {"einsum", matrix},
    {"select", choice},
    {"ite", choice},
    {"iif", choice},
    {"cond", choice},
    {"len", sizes},
    {"size", sizes},
    {"shape", sizes},
    {"numel", sizes},
    {"range", counting},
    {"arange", counting},
    {"zeros", filled},
    {"ones", filled},
    {"full", filled},
    {"transpose", transposed},
    {"permute", transposed},
    {"clamp", limits},
    {"clip", limits},
    {"power", power},
    {"square", "a square is written x * x"},
    {"argmax", place},
    {"argmin", place},
    {"if", choice},
    {"where", choice},
    {"not", "'not' is written '!'"},
    {"ln", "the natural logarithm is log(x)"},
    {"mod", "a remainder is written x % y"},
    {"arctan2", "it is called atan2 here"},
    {"arcsin", "it is called asin here"},
    {"arccos", "it is called acos here"},
    {"arctan", "it is called atan here"},
    {"maximum", "it is called max here"},
    {"minimum", "it is called min here"},
    {"absolute", "it is called abs here"},
};

const char *foreign_hint(const char *name) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(names[i].name, name) == 0)
            return names[i].hint;
    return NULL;
}

const char *foreign_combiner(const char *name) {
    static const char *const rows[][2] = {
        {"sum", "+=!"},     {"add", "+=!"},       {"plus", "+=!"},      {"mul", "*=!"},    {"prod", "*=!"},
        {"product", "*=!"}, {"max", "max=!"},     {"maximum", "max=!"}, {"fmax", "max=!"}, {"amax", "max=!"},
        {"min", "min=!"},   {"minimum", "min=!"}, {"fmin", "min=!"},    {"amin", "min=!"}, {"and", "min=!"},
        {"all", "min=!"},   {"or", "max=!"},      {"any", "max=!"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcasecmp(rows[i][0], name) == 0)
            return rows[i][1];
    return NULL;
}

/* --- names that C programs have already --------------------------------------------------------------------------- */

/* Whether a word is in a list between blanks. */
static bool is_listed(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = strstr(list, word); length && at; at = strstr(at + 1, word))
        if (at > list && at[-1] == ' ' && at[length] == ' ')
            return true;
    return false;
}

bool is_word_of_c(const char *name) {
    static const char words[] =
        " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class "
        "co_await co_return co_yield compl complex concept const const_cast consteval constexpr constinit continue "
        "decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto I "
        "if imaginary inline int linux long mutable namespace new noexcept not not_eq nullptr operator or or_eq "
        "private protected public register reinterpret_cast requires restrict return short signed sizeof static "
        "static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename "
        "typeof typeof_unqual union unix unsigned using virtual void volatile wchar_t while xor xor_eq "
        "EOF NULL errno stdin stdout stderr assert offsetof "
        "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t intmax_t uintmax_t "
        "size_t ptrdiff_t max_align_t ";
    bool kept = name[0] == '_' && (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z'));
    return kept || is_listed(words, name);
}

bool is_function_of_c(const char *name) {
    static const char words[] =
        " abort abs aligned_alloc asctime at_quick_exit atexit atof atoi atol atoll bsearch btowc calloc clearerr "
        "clock "
        "ctime difftime div exit fclose feof ferror fflush fgetc fgetpos fgets fopen fprintf fputc fputs fread free "
        "freopen frexp fscanf fseek fsetpos ftell fwrite getc getchar getenv gets gmtime isalnum isalpha isblank "
        "iscntrl "
        "isdigit isgraph islower isprint ispunct isspace isupper isxdigit labs ldexp ldiv llabs lldiv localtime "
        "longjmp "
        "malloc memchr memcmp memcpy memmove memset mktime modf perror printf putc putchar puts qsort quick_exit raise "
        "rand realloc remove rename rewind scanf setbuf setjmp setlocale setvbuf signal snprintf sprintf srand sscanf "
        "strcat strchr strcmp strcoll strcpy strcspn strerror strftime strlen strncat strncmp strncpy strpbrk strrchr "
        "strspn strstr strtod strtof strtok strtol strtold strtoll strtoul strtoull strxfrm system time tmpfile tmpnam "
        "tolower toupper ungetc vfprintf vprintf vsnprintf vsprintf ";
    return is_listed(words, name);
}
