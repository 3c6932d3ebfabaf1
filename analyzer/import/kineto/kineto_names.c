/* Reads the names of Python functions in a Kineto trace: "train.py(12): main", "<built-in method
 * item of Tensor object at 0x7f..>". PyTorch cuts off the folders of sys.path, so files of Python's
 * library and of installed packages look like the user's own. Known first parts of paths get a
 * folder back here, so that the owner of a file is recognised as in gpuprof's own recordings
 * (wire/python_owner.h). */
#include "analyzer/import/kineto/kineto.h"

#include "base/str.h"
#include "wire/fact_keys.h"
#include "wire/python_owner.h"

#include <stdio.h>
#include <string.h>

#define START  "<built-in "
#define MODULE "nn.Module: "
enum { MOST_NAME = 1000 };

/* Modules of Python 3.8 to 3.15 that are files. "test" is left out, because it is
 * more often the user's. */
static const char library[] =
    " __future__ _aix_support _bootsubprocess _collections_abc _compat_pickle _compression"
    " _markupbase _osx_support _py_abc _pydatetime _pydecimal _pyio _pyrepl _sitebuiltins _strptime"
    " _threading_local _weakrefset abc aifc annotationlib antigravity argparse ast asynchat asyncio"
    " asyncore base64 bdb binhex bisect bz2 cProfile calendar cgi cgitb chunk cmd code codecs"
    " codeop collections colorsys compileall compression concurrent configparser contextlib"
    " contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis"
    " distutils doctest email encodings ensurepip enum filecmp fileinput fnmatch formatter"
    " fractions ftplib functools genericpath getopt getpass gettext glob graphlib gzip hashlib"
    " heapq hmac html http idlelib imaplib imghdr imp importlib inspect io ipaddress json keyword"
    " lib2to3 linecache locale logging lzma mailbox mailcap mimetypes modulefinder multiprocessing"
    " netrc nntplib ntpath nturl2path numbers opcode operator optparse os pathlib pdb pickle"
    " pickletools pipes pkgutil platform plistlib poplib posixpath pprint profile pstats pty"
    " py_compile pyclbr pydoc pydoc_data queue quopri random re reprlib rlcompleter runpy sched"
    " secrets selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver"
    " sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct"
    " subprocess sunau symbol symtable sysconfig tabnanny tarfile telnetlib tempfile textwrap this"
    " threading timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle types"
    " typing unittest urllib uu uuid venv warnings wave weakref webbrowser wsgiref xdrlib xml"
    " xmlrpc zipapp zipfile zipimport zoneinfo ";

/* Packages that training loops import. Files of other packages count as the user's own. "datasets"
 * is left out, because it is more often the user's. */
static const char packages[] =
    " IPython PIL _pytest absl accelerate aiohttp albumentations apex bitsandbytes botocore cv2 "
    "dask"
    " decord deepspeed diffusers einops fairscale fastai fastcore flash_attn fsspec functorch"
    " grpc gym gymnasium h5py huggingface_hub hydra ignite ipykernel jax joblib kornia librosa"
    " lightning lightning_fabric lightning_utilities lmdb loguru matplotlib megatron mlflow"
    " mmcv mmdet mmengine monai nltk numba numpy omegaconf pandas peft pluggy polars psutil pyarrow"
    " pytest pytorch_lightning ray requests rich s3fs safetensors scipy sentence_transformers"
    " sentencepiece skimage sklearn skorch soundfile spacy speechbrain stable_baselines3 streaming"
    " tensorboard tensorboardX tensorflow tensorstore thop tiktoken timm tokenizers torch"
    " torch_cluster torch_geometric torch_scatter torch_sparse torchao torchaudio torchdata"
    " torchelastic torchgen torchmetrics torchrec torchtext torchtune torchvision tornado tqdm"
    " traitlets transformer_engine transformers triton trl typing_extensions ultralytics urllib3"
    " vllm wandb webdataset xformers yaml zarr zmq ";

/* C functions in which a thread waits, and the system call that they wait
 * in. All others compute. */
static const struct wait {
    const char *function, *call;
} waits[] = {
    {"lock.acquire", "futex"},
    {"RLock.acquire", "futex"},
    {"SemLock.acquire", "futex"},
    {"SemLock.__enter__", "futex"},
    {"lock.__enter__", "futex"},
    {"SimpleQueue.get", "futex"},
    {"sleep", "nanosleep"},
    {"waitpid", "wait4"},
    {"wait4", "wait4"},
    {"waitid", "wait4"},
    {"poll.poll", "poll"},
    {"epoll.poll", "poll"},
    {"select", "poll"},
    {"socket.recv", "recv"},
    {"socket.recv_into", "recv"},
    {"socket.accept", "recv"},
    {"socket.connect", "recv"},
    {"_SSLSocket.read", "recv"},
    {"read", "read"},
    {"write", "write"},
    {"fsync", "fsync"},
    {"fdatasync", "fsync"},
};

/* format_stack: anomaly detection keeps the stack of each operator; other code does so only
 * while it traces a graph. _run: code that is to run as
 * CUDA graphs. */
const struct kineto_sign kineto_signs[KINETO_SIGNS] = {
    {"/site-packages/torch/fx/traceback.py", "format_stack", FACT_TORCH_ANOMALY_MODE, "True"},
    {"/site-packages/torch/utils/checkpoint.py", "checkpoint", FACT_TORCH_CHECKPOINT, "used"},
    {PYTHON_BUILT_IN, "collect", FACT_TORCH_GC_ASKED, NULL},
    {"/site-packages/torch/_inductor/cudagraph_trees.py", "_run", FACT_TORCH_COMPILE,
     "torch.compile(mode='reduce-overhead' or 'max-autotune')"},
};

static uint8_t sign_of(const char *file, const char *function, size_t n)
{
    for (uint8_t i = 0; i < KINETO_SIGNS; i++)
        if (strcmp(kineto_signs[i].file, file) == 0 && strlen(kineto_signs[i].function) == n &&
            memcmp(kineto_signs[i].function, function, n) == 0)
            return i + 1;
    return 0;
}

/* What a function does with a loader's workers. PyTorch's DataLoader creates an iterator for each
 * loop, which starts the processes. */
static uint8_t start_of(const char *file, const char *function, size_t n)
{
    static const struct {
        const char *file, *function;
        enum kineto_start starts;
    } of[] = {
        {"/site-packages/torch/utils/data/dataloader.py", "_get_iterator", KINETO_STARTS},
        {"/lib/python3/multiprocessing/popen_", "_launch", KINETO_LAUNCHES},
        {"/site-packages/torch/utils/data/dataloader.py", "_shutdown_workers", KINETO_STOPS},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (strncmp(of[i].file, file, strlen(of[i].file)) == 0 && strlen(of[i].function) == n &&
            memcmp(of[i].function, function, n) == 0)
            return (uint8_t)of[i].starts;
    return KINETO_STARTS_NONE;
}

static bool listed(const char *list, const char *word, size_t n)
{
    char text[64];
    if (n == 0 || n + 3 > sizeof text || memchr(word, ' ', n))
        return false;
    text[0] = ' ';
    memcpy(text + 1, word, n);
    memcpy(text + 1 + n, " ", 2);
    return strstr(list, text) != NULL;
}

/* The folder that PyTorch cut off, or one with the same owner; "": the file is the user's. */
static const char *folder_of(const char *file, size_t n)
{
    const char *slash = memchr(file, '/', n);
    size_t first = slash ? (size_t)(slash - file) : n;
    if (!slash && n > 3 && memcmp(file + n - 3, ".py", 3) == 0)
        first = n - 3;
    return n == 0 || *file == '/' || *file == '<' ? ""
           : listed(library, file, first)         ? "/lib/python3/"
           : listed(packages, file, first)        ? "/site-packages/"
                                                  : "";
}

static uint32_t intern(struct kineto *k, const char *s, size_t n)
{
    uint32_t id = k->out->intern(k->out->self, s, n);
    if (id == STR_NONE)
        err_set(k->e, "out of memory");
    return id;
}

static int name_file(struct kineto *k, struct kineto_frame *f, const char *file, size_t n,
                     const char *function, size_t length)
{
    char path[MOST_NAME + 32];
    const char *folder = folder_of(file, n);
    size_t at = strlen(folder);
    memcpy(path, folder, at);
    memcpy(path + at, file, n);
    path[at + n] = 0;
    f->owner = (uint8_t)python_owner(path);
    const char *inside = python_in_packages(path);
    f->is_profiler = inside && strncmp(inside, "torch/profiler/", 15) == 0;
    f->traces = inside && (strncmp(inside, "torch/fx/", 9) == 0 ||
                           strncmp(inside, "torch/_dynamo/", 14) == 0);
    f->sign = sign_of(path, function, length);
    f->starts = start_of(path, function, length);
    f->optimizes = inside && strncmp(inside, "torch/optim/", 12) == 0;
    f->said = str_hash(file, n);
    if (f->owner == PYTHON_OF_USER)
        snprintf(f->name, sizeof f->name, "%s", python_short_file(path));
    f->file = intern(k, path, at + n);
    return f->file == STR_NONE ? -1 : 0;
}

/* Reads "train.py(12): main". Splits at the last "): ", because a file's
 * name may contain brackets. */
static int read_python(struct kineto *k, struct kineto_frame *f, const char *s, size_t n)
{
    size_t close = n;
    for (size_t i = n; i-- > 0 && close == n;)
        close = i + 3 <= n && memcmp(s + i, "): ", 3) == 0 ? i : n;
    size_t open = close;
    while (open < n && open > 0 && s[open - 1] >= '0' && s[open - 1] <= '9')
        open--;
    if (close == n || open == close || open < 2 || s[open - 1] != '(')
        return 0;
    f->kind = KINETO_FRAME_PYTHON;
    json_int64(s + open, close - open, &f->line);
    f->function = intern(k, s + close + 3, n - close - 3);
    return f->function == STR_NONE ? -1
                                   : name_file(k, f, s, open - 1, s + close + 3, n - close - 3);
}

/* Reads "<built-in method item of torch._C.Tensor object at 0x7f..>" as Tensor.item. */
static int read_built_in(struct kineto *k, struct kineto_frame *f, const char *s, size_t n)
{
    char name[MOST_NAME];
    size_t at = sizeof START - 1, type = 0, type_n = 0;
    at += memcmp(s + at, "method ", 7) == 0 ? 7 : memcmp(s + at, "function ", 9) == 0 ? 9 : 0;
    size_t end = at;
    while (end < n && s[end] != ' ' && s[end] != '>')
        end++;
    if (end + 4 < n && memcmp(s + end, " of ", 4) == 0) {
        for (type = end + 4; type + type_n < n && s[type + type_n] != ' ';)
            if (s[type + type_n++] == '.')
                type += type_n, type_n = 0;
        if (type_n == 6 && memcmp(s + type, "module", 6) == 0)
            type_n = 0;
    }
    memcpy(name, s + type, type_n);
    if (type_n > 0)
        name[type_n] = '.';
    memcpy(name + type_n + (type_n > 0), s + at, end - at);
    size_t length = type_n + (type_n > 0) + end - at;
    name[length] = 0;
    /* Not a frame: while the training thread waits for the engine, its innermost frame must be
     * the one that called this. */
    if (strcmp(name + (type_n ? type_n + 1 : 0), "run_backward") == 0)
        return 0;
    f->kind = KINETO_FRAME_BUILT_IN;
    f->owner = PYTHON_OF_LIBRARY;
    f->sign = sign_of(PYTHON_BUILT_IN, name, length);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (strcmp(name, waits[i].function) == 0)
            f->call = intern(k, waits[i].call, strlen(waits[i].call));
    f->file = intern(k, PYTHON_BUILT_IN, sizeof PYTHON_BUILT_IN - 1);
    f->function = intern(k, name, length);
    return f->call == STR_NONE || f->file == STR_NONE || f->function == STR_NONE ? -1 : 0;
}

int kineto_frame_read(struct kineto *k, struct kineto_frame *f, const char *s, size_t n)
{
    *f = (struct kineto_frame){.kind = KINETO_FRAME_NONE};
    if (n > MOST_NAME - 2)
        return 0;
    if (n > sizeof MODULE - 1 && memcmp(s, MODULE, sizeof MODULE - 1) == 0) {
        f->kind = KINETO_FRAME_MODULE;
        f->owner = PYTHON_OF_LIBRARY;
        f->function = intern(k, s + sizeof MODULE - 1, n - (sizeof MODULE - 1));
        return f->function == STR_NONE ? -1 : 0;
    }
    bool built_in = n >= sizeof START + 9 && memcmp(s, START, sizeof START - 1) == 0;
    return built_in ? read_built_in(k, f, s, n) : read_python(k, f, s, n);
}
