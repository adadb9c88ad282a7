/* unload.c - dlopen and dlclose in four orders. The image stays mapped (rule R9), so code and thread-locals of ours that
** somebody still has stay good. Not linked to the library. argv[1]: its path. */
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

static const char *path;
static sem_t used, closed;

typedef struct library {
  void *handle;
  fx402_status (*open)(uint32_t, fx402_span, fx402_engine **, fx402_error *);
  fx402_status (*mint)(const fx402_engine *, char *);
  fx402_status (*selftest)(uint32_t, fx402_error *);
  void (*free)(fx402_engine *);
} library;

static library load(void) {
  library l;
  l.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!l.handle) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  *(void **)&l.open = dlsym(l.handle, "fx402_engine_open");
  *(void **)&l.mint = dlsym(l.handle, "fx402_mint_id");
  *(void **)&l.selftest = dlsym(l.handle, "fx402_selftest");
  *(void **)&l.free = dlsym(l.handle, "fx402_engine_free");
  return l;
}

static fx402_engine *use(const library *l, fx402_engine *e) {
  char id[FX402_ID_LEN + 1];
  if (!e) CHECK(l->open(FX402_ABI, span(OPTIONS_FAKE("")), &e, NULL) == FX402_OK);
  CHECK(l->mint(e, id) == FX402_OK);
  CHECK(l->selftest(3, NULL) == FX402_OK);
  return e;
}

static int mapped(void) {
  char line[512];
  int found = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) found |= strstr(line, "libforge_x402.so") != NULL;
  if (maps) fclose(maps);
  return found;
}

static void close_then_go_on(void) {
  library l = load();
  l.free(use(&l, NULL));
  CHECK(dlclose(l.handle) == 0);
  CHECK(mapped());
}

static void close_load_again_and_use(void) {
  library first = load(), second;
  fx402_engine *e = use(&first, NULL);
  CHECK(dlclose(first.handle) == 0);
  second = load();
  CHECK(second.mint == first.mint);
  second.free(use(&second, e)); /* an engine from before */
  CHECK(dlclose(second.handle) == 0);
}

static void *use_and_outlive(void *arg) {
  library *l = (library *)arg;
  fx402_engine *e = use(l, NULL); /* makes thread-locals of this thread */
  sem_post(&used);
  sem_wait(&closed);
  return e; /* the thread ends after dlclose */
}

static void a_thread_outlives_the_close(void) {
  library l = load();
  pthread_t thread;
  void *e = NULL;
  CHECK(pthread_create(&thread, NULL, use_and_outlive, &l) == 0);
  sem_wait(&used);
  CHECK(dlclose(l.handle) == 0);
  sem_post(&closed);
  pthread_join(thread, &e);
  CHECK(e != NULL && mapped());
  l.free((fx402_engine *)e); /* still callable */
}

static void *load_use_close(void *arg) {
  library l = load();
  l.free(use(&l, NULL));
  CHECK(dlclose(l.handle) == 0);
  return arg;
}

static void each_thread_loads_for_itself(void) {
  pthread_t threads[4];
  size_t i, round;
  for (round = 0; round < 5; round++) {
    for (i = 0; i < COUNT(threads); i++) CHECK(pthread_create(&threads[i], NULL, load_use_close, NULL) == 0);
    for (i = 0; i < COUNT(threads); i++) pthread_join(threads[i], NULL);
  }
}

static const test tests[] = {
  {"unload: close, then go on", close_then_go_on},
  {"unload: a thread outlives the close", a_thread_outlives_the_close},
  {"unload: close, load again and use", close_load_again_and_use},
  {"unload: each thread loads for itself", each_thread_loads_for_itself},
};

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  path = argv[1];
  sem_init(&used, 0, 0);
  sem_init(&closed, 0, 0);
  return check_run(tests, COUNT(tests));
}
