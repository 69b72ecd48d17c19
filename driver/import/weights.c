/* weights.c - the contents of weights as .npy files, written from the mapped model: a header, then its bytes. Each file
 * is written whole or not at all.
 */
#include "driver/import/importer.h"
#include "lang/files.h"
#include "lang/npy.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Elements that were computed, as in memory. */
static const void *stored(Import *import, const Weight *weight, int64_t count) {
    int bytes = element_info[weight->operand->type].bytes;
    char *data = arena_alloc(import->arena, (size_t)(count * bytes) + 1);
    for (int64_t i = 0; i < count; i++) {
        const char *symbol = weight->operand->elements[i].symbol;
        if (symbol)
            refuse_node(import, "'%s' depends on a size that is known at run time: bind it with %s", weight->name,
                        size_options(import, size_symbol(symbol)));
        value_store(weight->operand->elements[i].value, data + i * bytes);
    }
    return data;
}

static bool write_weight(Import *import, const Weight *weight, const char *folder) {
    int64_t *shape = ARENA_ARRAY(import->arena, int64_t, weight->rank + 1), count = 1;
    for (int d = 0; d < weight->rank; d++)
        count *= shape[d] = weight->shape[d].factor;
    const char *why = "", *path = format(import, "%s/%s.npy", folder, weight->name);
    const OnnxTensor *tensor = weight->operand->tensor;
    const void *data = tensor ? tensor_data(import->model, tensor, &why) : stored(import, weight, count);
    if (!data)
        refuse_node(import, "the tensor '%s' cannot be read: %s", weight->operand->onnx, why);
    if (import->failed)
        return false;
    Text head = npy_head(import->arena, weight->operand->type, weight->rank, shape);
    size_t bytes = (size_t)count * (size_t)element_info[weight->operand->type].bytes;
    if (write_whole_parts(path, (FilePart[]){{head.text, head.length}, {data, bytes}}, 2))
        return true;
    complain("cannot write '%s': %s", path, strerror(errno));
    return false;
}

bool write_weights(Import *import, const char *folder) {
    if (import->weights.count && mkdir(folder, 0777) && errno != EEXIST) {
        complain("cannot make the folder '%s': %s", folder, strerror(errno));
        return false;
    }
    for (int i = 0; i < import->weights.count; i++)
        if (!write_weight(import, &import->weights.items[i], folder))
            return false;
    return true;
}
