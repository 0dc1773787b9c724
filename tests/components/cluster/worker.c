/* The one program of the test images: it waits, grows its memory, fills a file, or ends. Linked statically. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1024 * 1024)

/* Not 0: an evicted pod whose containers exit 0 would end as Succeeded. */
static void leave(int signal_number) { _exit(128 + signal_number); }

static void wait_forever(void) {
    for (;;) pause();
}

/* Touch one MiB every `micros` until `most` MiB are held. */
static void grow(long micros, long most) {
    for (long held = 0; held < most; held++) {
        volatile char *block = malloc(MIB); /* volatile: the compiler would leave out what nobody reads */
        if (block == NULL) break;
        for (long at = 0; at < MIB; at += 4096) block[at] = 1;
        usleep(micros);
    }
}

/* Hold `most` MiB and touch their pages in no order, forever: with less memory than that, every touch is a fault. */
static void thrash(long most) {
    size_t size = (size_t)most * MIB;
    volatile char *block = malloc(size);
    if (block == NULL) return;
    for (size_t at = 0; at < size; at += 4096) block[at] = 1;
    for (unsigned long chosen = 1;; chosen = chosen * 6364136223846793005UL + 1442695040888963407UL)
        block[(chosen >> 33) * 4096 % size]++;
}

/* Append one MiB to `path` every `micros` until it has `most` MiB. */
static int fill(const char *path, long micros, long most) {
    static char block[MIB];
    memset(block, 1, MIB);
    FILE *file = fopen(path, "w");
    if (file == NULL) return 1;
    for (long written = 0; written < most; written++) {
        if (fwrite(block, MIB, 1, file) != 1 || fflush(file) != 0) return 1;
        usleep(micros);
    }
    return fclose(file);
}

int main(int count, char **words) {
    signal(SIGTERM, leave);
    signal(SIGINT, leave);
    const char *what = count > 1 ? words[1] : "wait";
    if (strcmp(what, "exit") == 0) return count > 2 ? atoi(words[2]) : 0;
    if (strcmp(what, "spin") == 0) for (volatile long turns = 0;; turns++) {}
    if (strcmp(what, "thrash") == 0 && count > 2) thrash(atol(words[2]));
    if (strcmp(what, "grow") == 0 && count > 3) grow(atol(words[2]), atol(words[3]));
    if (strcmp(what, "fill") == 0 && count > 4 && fill(words[2], atol(words[3]), atol(words[4])) != 0) return 1;
    wait_forever();
}
