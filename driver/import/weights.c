/* weights.c - the contents of weights as .npy files, written from the mapped model: a header, then its bytes. Each file
 * is written whole or not at all; what was not there before goes again if a later one cannot be written.
 */
#include "driver/import/importer.h"
#include "lang/files.h"
#include "lang/npy.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

static WeightFile weight_file(Import *import, const Weight *weight, const char *folder) {
    int64_t *shape = ARENA_ARRAY(import->arena, int64_t, weight->rank + 1), count = 1;
    for (int d = 0; d < weight->rank; d++)
        count *= shape[d] = weight->shape[d].factor;
    const char *why = "", *path = format(import, "%s/%s.npy", folder, weight->name);
    const OnnxTensor *tensor = weight->operand->tensor;
    const void *data = tensor ? tensor_data(import->model, tensor, &why) : stored(import, weight, count);
    if (!data)
        refuse_node(import, "the tensor '%s' cannot be read: %s", weight->operand->onnx, why);
    Text head = npy_head(import->arena, weight->operand->type, weight->rank, shape);
    size_t bytes = (size_t)count * (size_t)element_info[weight->operand->type].bytes;
    return (WeightFile){path, {{head.text, head.length}, {data, bytes}}, access(path, F_OK) == 0};
}

WeightFiles weight_files(Import *import, const char *folder) {
    WeightFiles files = {.folder = folder, .is_new = access(folder, F_OK) != 0};
    for (int i = 0; i < import->weights.count && !import->failed; i++)
        list_push(import->arena, &files.files, weight_file(import, &import->weights.items[i], folder));
    return files;
}

static bool has_contents(const WeightFile *file) {
    Bytes old;
    const char *why;
    size_t head = file->parts[0].bytes, bytes = file->parts[1].bytes;
    if (!map_file(file->path, &old, &why))
        return false;
    bool same = (size_t)(old.end - old.at) == head + bytes && !memcmp(old.at, file->parts[0].data, head) &&
                !memcmp(old.at + head, file->parts[1].data, bytes);
    if (old.at)
        munmap((void *)old.at, (size_t)(old.end - old.at));
    return same;
}

bool weight_files_can_be_written(const WeightFiles *files, bool may_replace) {
    for (int i = 0; i < files->files.count; i++) {
        const WeightFile *file = &files->files.items[i];
        const char *path = files->is_new ? files->folder : file->path;
        if (file->exists && !may_replace && !has_contents(file)) {
            complain("'%s' has other contents, which another source may read: remove it, or name another file with -o",
                     file->path);
            return false;
        }
        if (!can_write_whole(path)) {
            complain("cannot write '%s': %s", path, strerror(errno));
            return false;
        }
    }
    return true;
}

bool write_weights(WeightFiles *files) {
    if (files->files.count && files->is_new && mkdir(files->folder, 0777)) {
        complain("cannot make the folder '%s': %s", files->folder, strerror(errno));
        return false;
    }
    for (; files->written < files->files.count; files->written++) {
        const WeightFile *file = &files->files.items[files->written];
        if (!write_whole_parts(file->path, file->parts, 2)) {
            complain("cannot write '%s': %s", file->path, strerror(errno));
            remove_weights(files);
            return false;
        }
    }
    return true;
}

void remove_weights(const WeightFiles *files) {
    for (int i = 0; i < files->written; i++)
        if (!files->files.items[i].exists)
            unlink(files->files.items[i].path);
    if (files->files.count && files->is_new)
        rmdir(files->folder);
}
