/* marks [LIBRARY]: makes marks of every kind that tests/agent/chain.sh counts, through this
 * program's copy of NVTX and, if a library is given, through that library's copy. Prints what NVTX
 * returns. */
#include <dlfcn.h>
#include <stdio.h>

#include <nvtx3/nvToolsExt.h>

void more(void);

void more(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("mine");
    nvtxStringHandle_t text = nvtxDomainRegisterStringA(domain, "text");
    nvtxEventAttributes_t a = {.version = NVTX_VERSION,
                               .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                               .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                               .message.registered = text};
    nvtxDomainNameCategoryA(domain, 1, "category");
    for (int i = 0; i < 10; i++) {
        int pushed = nvtxDomainRangePushEx(domain, &a);
        int popped = nvtxDomainRangePop(domain);
        if (i == 0)
            printf("domain %d %d\n", pushed, popped);
    }
    nvtxMarkA("nobody but us handles this one");
}

int main(int argc, char **argv)
{
    for (int i = 0; i < 10; i++) {
        int a = nvtxRangePushA("outer"), b = nvtxRangePushA("inner");
        int c = nvtxRangePop(), d = nvtxRangePop();
        if (i == 0)
            printf("plain %d %d %d %d\n", a, b, c, d);
        nvtxRangeEnd(nvtxRangeStartA("start"));
    }
    more();
    void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void (*again)(void) = NULL;
    if (lib)
        *(void **)&again = dlsym(lib, "more");
    if (again)
        again();
    return 0;
}
