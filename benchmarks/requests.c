/* Raw requests, encoded before, as fast as a server answers them: what the client costs is next to nothing.
 *
 *   requests PORT SCRIPTS CONNECTIONS IN_FLIGHT SECONDS REPEAT WATCHED
 *
 * SCRIPTS: u32 count, then for each script a u32 count of frames, then for each frame a u32 length, a u32 that says at
 * which byte of its answer (behind the size) the error code is, 0 for nowhere, and its bytes (its size first, as it goes
 * over the wire); numbers in the machine's byte order. Connection n sends script n modulo count, with at most IN_FLIGHT
 * requests without an answer; over and over where REPEAT is 1, else once. If WATCHED is not 0, only connections with one
 * of the first WATCHED scripts count, and these have one request in flight: what all the others do to them is asked.
 *
 * Every connection is answered an ApiVersions before the line "ready" is printed; the load begins when a line comes in.
 * An answer with an error code counts as an error, not as an answer, but for CONCURRENT_TRANSACTIONS where one request
 * is in flight: that one is sent again at once, and its time goes on. Prints one JSON object: requests answered within
 * SECONDS (or until all scripts end) and later, the least and the most of one connection, errors, percentiles in us;
 * ends when its input does.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_IN_FLIGHT = 256, RECEIVE_BYTES = 1 << 20, MOST_SAMPLES = 1 << 23, CONCURRENT_TRANSACTIONS = 51 };

typedef struct {
        uint32_t frames;
        size_t *at; /* where each frame begins; one more for the end */
        uint32_t *error_at;
        char *bytes;
} Script;

typedef struct {
        int fd;
        const Script *script;
        uint64_t sent, answered; /* whole frames */
        size_t part;             /* bytes of the next frame that have left */
        uint32_t missing, taken; /* bytes of the answer that is coming in */
        uint32_t error;          /* that it tells */
        int size_bytes;          /* of its size that are here */
        unsigned char size[4];
        uint64_t begun[MOST_IN_FLIGHT];
        uint64_t counted; /* answers within the time */
        int in_flight, watched;
        int wants_write, again;
} Connection;

static int in_flight, repeat, stopping;
static uint64_t answers, late, errors, repeated, samples;
static uint32_t last_error;
static uint32_t *latency_us;

static void fail(const char *what) {
        perror(what);
        exit(1);
}

static uint64_t now_ns(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int finished(const Connection *c) {
        return (stopping || (!repeat && c->sent == c->script->frames)) && !c->part;
}

/* 1 where the socket takes no more now. */
static int fill(Connection *c) {
        const Script *s = c->script;
        while (!finished(c)) {
                uint64_t room = (uint64_t)c->in_flight - (c->sent - c->answered);
                uint32_t first = (uint32_t)(c->sent % s->frames);
                uint32_t count = s->frames - first;
                if (!room)
                        return 0;
                if (count > room)
                        count = (uint32_t)room;
                if (stopping)
                        count = 1;
                size_t start = s->at[first] + c->part;
                uint64_t begin = now_ns();
                for (uint32_t i = c->part || c->again ? 1 : 0; i < count; i++)
                        c->begun[(c->sent + i) % MOST_IN_FLIGHT] = begin;
                ssize_t n = send(c->fd, s->bytes + start, s->at[first + count] - start, MSG_NOSIGNAL);
                if (n < 0) {
                        if (errno == EAGAIN)
                                return 1;
                        fail("send");
                }
                size_t end = start + (size_t)n;
                uint32_t whole = 0;
                while (whole < count && s->at[first + whole + 1] <= end)
                        whole++;
                c->sent += whole;
                c->again = c->again && !whole;
                c->part = whole == count ? 0 : end - s->at[first + whole];
        }
        return 0;
}

/* An answer is here whole. */
static void answered(Connection *c) {
        uint64_t begun = c->begun[c->answered % MOST_IN_FLIGHT];
        c->size_bytes = 0;
        if (c->error == CONCURRENT_TRANSACTIONS && c->in_flight == 1 && !stopping) {
                c->sent--;
                c->again = 1;
                repeated++;
                return;
        }
        c->answered++;
        if (c->error == CONCURRENT_TRANSACTIONS && c->in_flight == 1)
                return; /* too late to be sent again */
        if (c->error) {
                errors++;
                last_error = c->error;
                return;
        }
        if (!c->watched)
                return;
        *(stopping ? &late : &answers) += 1;
        if (!stopping)
                c->counted++;
        if (samples < MOST_SAMPLES)
                latency_us[samples++] = (uint32_t)((now_ns() - begun) / 1000);
}

static void take(Connection *c, const char *data, size_t size) {
        while (size) {
                if (c->size_bytes < 4) {
                        c->size[c->size_bytes++] = (unsigned char)*data++;
                        size--;
                        if (c->size_bytes == 4)
                                c->missing = (uint32_t)c->size[0] << 24 | (uint32_t)c->size[1] << 16 |
                                             (uint32_t)c->size[2] << 8 | c->size[3];
                        c->taken = c->error = 0;
                        if (c->size_bytes == 4 && !c->missing)
                                answered(c);
                        continue;
                }
                uint32_t error_at = c->script->error_at[c->answered % c->script->frames];
                size_t n = c->missing < size ? c->missing : size;
                for (uint32_t at = error_at; error_at && at < error_at + 2; at++)
                        if (at >= c->taken && at < c->taken + n)
                                c->error = c->error << 8 | (unsigned char)data[at - c->taken];
                data += n;
                size -= n;
                c->taken += (uint32_t)n;
                c->missing -= (uint32_t)n;
                if (!c->missing)
                        answered(c);
        }
}

static void drain(Connection *c, char *buffer) {
        for (;;) {
                ssize_t n = recv(c->fd, buffer, RECEIVE_BYTES, 0);
                if (n < 0 && errno == EAGAIN)
                        return;
                if (n <= 0) {
                        fprintf(stderr, "the server closed a connection after %lu answers\n",
                                (unsigned long)c->answered);
                        exit(1);
                }
                take(c, buffer, (size_t)n);
                if (n < RECEIVE_BYTES)
                        return;
        }
}

static uint32_t number(FILE *file) {
        uint32_t value;
        if (fread(&value, 4, 1, file) != 1)
                fail("scripts");
        return value;
}

static Script *load(const char *path, uint32_t *count) {
        FILE *file = fopen(path, "rb");
        if (!file)
                fail(path);
        *count = number(file);
        Script *scripts = calloc(*count, sizeof *scripts);
        for (uint32_t i = 0; i < *count; i++) {
                Script *s = &scripts[i];
                size_t room = 1 << 20;
                s->frames = number(file);
                s->at = calloc(s->frames + 1, sizeof *s->at);
                s->error_at = calloc(s->frames + 1, sizeof *s->error_at);
                s->bytes = malloc(room);
                for (uint32_t j = 0; j < s->frames; j++) {
                        uint32_t size = number(file);
                        s->error_at[j] = number(file);
                        while (s->at[j] + size > room)
                                s->bytes = realloc(s->bytes, room *= 2);
                        if (fread(s->bytes + s->at[j], 1, size, file) != size)
                                fail("scripts");
                        s->at[j + 1] = s->at[j] + size;
                }
        }
        fclose(file);
        return scripts;
}

static int by_size(const void *a, const void *b) {
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
        return x < y ? -1 : x > y;
}

static double percentile(double part) {
        return samples ? latency_us[(uint64_t)((double)(samples - 1) * part)] : 0;
}

/* A first request and its answer, so that the server has taken the connection in before time counts. */
static void greet(int fd) {
        static const char api_versions[] = "\0\0\0\12\0\22\0\0\0\0\0\1\377\377";
        unsigned char size[4];
        char answer[1 << 16];
        if (send(fd, api_versions, 14, MSG_NOSIGNAL) != 14 || recv(fd, size, 4, MSG_WAITALL) != 4)
                fail("the first request of a connection");
        size_t length = (size_t)size[2] << 8 | size[3];
        if (recv(fd, answer, length, MSG_WAITALL) != (ssize_t)length)
                fail("the first answer of a connection");
}

int main(int argc, char **argv) {
        if (argc != 8) {
                fprintf(stderr, "usage: requests PORT SCRIPTS CONNECTIONS IN_FLIGHT SECONDS REPEAT WATCHED\n");
                return 2;
        }
        uint32_t scripts_count;
        Script *scripts = load(argv[2], &scripts_count);
        int count = atoi(argv[3]), epoll = epoll_create1(0), one = 1;
        double seconds = atof(argv[5]);
        in_flight = atoi(argv[4]);
        repeat = atoi(argv[6]);
        uint32_t watched = (uint32_t)atoi(argv[7]);
        if (in_flight < 1 || in_flight > MOST_IN_FLIGHT)
                return 2;
        latency_us = malloc(sizeof *latency_us * MOST_SAMPLES);
        char *buffer = malloc(RECEIVE_BYTES);
        Connection *connections = calloc((size_t)count, sizeof *connections);
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
        for (int i = 0; i < count; i++) {
                Connection *c = &connections[i];
                c->script = &scripts[(uint32_t)i % scripts_count];
                c->watched = !watched || (uint32_t)i % scripts_count < watched;
                c->in_flight = watched && c->watched ? 1 : in_flight;
                c->fd = socket(AF_INET, SOCK_STREAM, 0);
                if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address))
                        fail("connect");
                setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                greet(c->fd);
                fcntl(c->fd, F_SETFL, O_NONBLOCK);
                struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
                epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event);
        }
        printf("ready\n");
        fflush(stdout);
        if (getchar() == EOF)
                return 1;
        uint64_t begin = now_ns(), stop_at = begin + (uint64_t)(seconds * 1e9), stopped = 0;
        struct epoll_event events[256];
        for (int i = 0; i < count; i++)
                connections[i].wants_write = -1;
        for (int first = 1;; first = 0) {
                int ready = first ? 0 : epoll_wait(epoll, events, 256, 50), busy = 0;
                for (int i = 0; i < (first ? count : ready); i++) {
                        Connection *c = first ? &connections[i] : events[i].data.ptr;
                        if (!first && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                                drain(c, buffer);
                        int wants = fill(c);
                        if (wants != c->wants_write) {
                                struct epoll_event event = {.events = EPOLLIN | (wants ? EPOLLOUT : 0), .data.ptr = c};
                                epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &event);
                                c->wants_write = wants;
                        }
                }
                for (int i = 0; i < count && !busy; i++)
                        busy = !finished(&connections[i]) || connections[i].sent != connections[i].answered;
                uint64_t now = now_ns();
                if (!stopping && (now >= stop_at || !busy)) {
                        stopping = 1;
                        stopped = now;
                }
                if (stopping && (!busy || now > stopped + 10000000000u))
                        break;
        }
        qsort(latency_us, samples, sizeof *latency_us, by_size);
        uint64_t least = UINT64_MAX, most = 0;
        for (int i = 0; i < count; i++) {
                uint64_t counted = connections[i].counted;
                if (!connections[i].watched)
                        continue;
                least = counted < least ? counted : least;
                most = counted > most ? counted : most;
        }
        printf("{\"requests\": %lu, \"least\": %lu, \"most\": %lu, \"late\": %lu, \"errors\": %lu, \"last_error\": %u, \"repeated\": %lu, \"seconds\": %.6f, "
               "\"p50_us\": %.0f, \"p99_us\": %.0f, \"p999_us\": %.0f}\n",
               (unsigned long)answers, (unsigned long)least, (unsigned long)most, (unsigned long)late, (unsigned long)errors, last_error, (unsigned long)repeated,
               (double)(stopped - begin) / 1e9, percentile(0.5), percentile(0.99), percentile(0.999));
        fflush(stdout);
        while (getchar() != EOF)
                ;
        return 0;
}
