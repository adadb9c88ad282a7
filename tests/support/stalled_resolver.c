/* Preloaded: a look-up of a name that starts with "stalled" never comes back while the file named by
   FX402_TEST_STALL exists; then it is 127.0.0.1. Every other name goes to the real getaddrinfo. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result)
{
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (node && strncmp(node, "stalled", 7) == 0) {
        const char *file = getenv("FX402_TEST_STALL");
        while (file && access(file, F_OK) == 0) usleep(20000);
        node = "127.0.0.1";
    }
    return real(node, service, hints, result);
}
