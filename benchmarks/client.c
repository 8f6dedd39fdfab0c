/* The load of the benchmarks: librdkafka driven from C, for Python's face of it is slower than the brokers measured.
 *
 *   client produce      SERVERS TOPIC PARTITIONS SIZE RECORDS
 *   client consume      SERVERS TOPIC PARTITIONS SIZE RECORDS
 *   client latency      SERVERS TOPIC PARTITIONS SIZE RECORDS   one record at a time, each acked before the next
 *   client transactions SERVERS TOPIC PARTITIONS SIZE RECORDS TRANSACTIONS   RECORDS in each transaction
 *
 * Prints one JSON object. It is built against the librdkafka inside the package confluent-kafka, which brings no
 * header, so what is used is declared here; names, layouts and numbers are those of librdkafka's public C API.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_topic_s rd_kafka_topic_t;
typedef struct rd_kafka_topic_conf_s rd_kafka_topic_conf_t;
typedef struct rd_kafka_queue_s rd_kafka_queue_t;
typedef struct rd_kafka_error_s rd_kafka_error_t;
typedef struct {
        int err;
        rd_kafka_topic_t *rkt;
        int32_t partition;
        void *payload;
        size_t len;
        void *key;
        size_t key_len;
        int64_t offset;
        void *_private;
} rd_kafka_message_t;

enum { PRODUCER, CONSUMER };
enum { PARTITION_EOF = -191, QUEUE_FULL = -184, OFFSET_BEGINNING = -2 };

rd_kafka_conf_t *rd_kafka_conf_new(void);
int rd_kafka_conf_set(rd_kafka_conf_t *, const char *, const char *, char *, size_t);
void rd_kafka_conf_set_dr_msg_cb(rd_kafka_conf_t *,
                                 void (*)(rd_kafka_t *, const rd_kafka_message_t *, void *));
rd_kafka_t *rd_kafka_new(int, rd_kafka_conf_t *, char *, size_t);
rd_kafka_topic_t *rd_kafka_topic_new(rd_kafka_t *, const char *, rd_kafka_topic_conf_t *);
int rd_kafka_produce(rd_kafka_topic_t *, int32_t, int, void *, size_t, const void *, size_t, void *);
int rd_kafka_last_error(void);
const char *rd_kafka_err2str(int);
int rd_kafka_poll(rd_kafka_t *, int);
int rd_kafka_flush(rd_kafka_t *, int);
void rd_kafka_topic_destroy(rd_kafka_topic_t *);
void rd_kafka_destroy(rd_kafka_t *);
rd_kafka_queue_t *rd_kafka_queue_new(rd_kafka_t *);
int rd_kafka_consume_start_queue(rd_kafka_topic_t *, int32_t, int64_t, rd_kafka_queue_t *);
ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t *, int, rd_kafka_message_t **, size_t);
int rd_kafka_consume_stop(rd_kafka_topic_t *, int32_t);
void rd_kafka_queue_destroy(rd_kafka_queue_t *);
void rd_kafka_message_destroy(rd_kafka_message_t *);
rd_kafka_error_t *rd_kafka_init_transactions(rd_kafka_t *, int);
rd_kafka_error_t *rd_kafka_begin_transaction(rd_kafka_t *);
rd_kafka_error_t *rd_kafka_commit_transaction(rd_kafka_t *, int);
const char *rd_kafka_error_string(const rd_kafka_error_t *);

static long delivered, refused;

static void fail(const char *what, const char *why) {
        fprintf(stderr, "%s: %s\n", what, why);
        exit(1);
}

static void check(const char *what, rd_kafka_error_t *error) {
        if (error)
                fail(what, rd_kafka_error_string(error));
}

static double now(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu(void) {
        struct rusage u;
        getrusage(RUSAGE_SELF, &u);
        return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
               (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque) {
        (void)rk, (void)opaque;
        delivered++;
        refused += message->err != 0;
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
        char why[512];
        if (rd_kafka_conf_set(conf, name, value, why, sizeof why))
                fail(name, why);
}

static rd_kafka_t *start(int type, rd_kafka_conf_t *conf) {
        char why[512];
        rd_kafka_t *rk = rd_kafka_new(type, conf, why, sizeof why);
        if (!rk)
                fail("librdkafka", why);
        return rk;
}

static int ascending(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

static double *sorted(double *times, long count) {
        qsort(times, (size_t)count, sizeof *times, ascending);
        return times;
}

static void send(rd_kafka_t *rk, rd_kafka_topic_t *topic, long n, int partitions, char *payload, size_t size) {
        while (rd_kafka_produce(topic, (int32_t)(n % partitions), 0, payload, size, NULL, 0, NULL)) {
                if (rd_kafka_last_error() != QUEUE_FULL)
                        fail("produce", rd_kafka_err2str(rd_kafka_last_error()));
                rd_kafka_poll(rk, 10);
        }
}

static void produce(rd_kafka_t *rk, rd_kafka_topic_t *topic, int partitions, char *payload, size_t size, long records) {
        send(rk, topic, 0, partitions, payload, size); /* connections and producer id are not measured */
        rd_kafka_flush(rk, 60000);
        double begin = now(), cpu_begin = cpu();
        for (long n = 0; n < records; n++) {
                send(rk, topic, n, partitions, payload, size);
                if (n % 1024 == 0)
                        rd_kafka_poll(rk, 0);
        }
        rd_kafka_flush(rk, 120000);
        double end = now();
        if (refused || delivered != records + 1)
                fail("produce", "not every record was acknowledged");
        printf("{\"seconds\": %.6f, \"client_cpu_s\": %.6f}\n", end - begin, cpu() - cpu_begin);
}

static void latency(rd_kafka_t *rk, rd_kafka_topic_t *topic, int partitions, char *payload, size_t size, long records) {
        long warm = records / 10 + 10;
        double *times = malloc(sizeof *times * (size_t)records);
        for (long n = 0; n < warm + records; n++) {
                double begin = now();
                send(rk, topic, n, partitions, payload, size);
                while (delivered <= n)
                        rd_kafka_poll(rk, 1000);
                if (n >= warm)
                        times[n - warm] = now() - begin;
        }
        if (refused)
                fail("latency", "not every record was acknowledged");
        sorted(times, records);
        printf("{\"p50_ms\": %.6f, \"p99_ms\": %.6f}\n", times[records / 2] * 1e3, times[records * 99 / 100] * 1e3);
}

static void transactions(rd_kafka_t *rk, rd_kafka_topic_t *topic, int partitions, char *payload, size_t size,
                         long records, long count) {
        long warm = count / 10 + 2;
        double *whole = malloc(sizeof *whole * (size_t)count), *commit = malloc(sizeof *commit * (size_t)count);
        double begin = 0, cpu_begin = 0;
        check("init_transactions", rd_kafka_init_transactions(rk, 60000));
        for (long n = 0; n < warm + count; n++) {
                double started = now();
                if (n == warm)
                        begin = started, cpu_begin = cpu();
                check("begin_transaction", rd_kafka_begin_transaction(rk));
                for (long m = 0; m < records; m++)
                        send(rk, topic, m, partitions, payload, size);
                double full = now();
                check("commit_transaction", rd_kafka_commit_transaction(rk, 60000));
                if (n >= warm) {
                        whole[n - warm] = now() - started;
                        commit[n - warm] = now() - full;
                }
        }
        double end = now();
        sorted(whole, count), sorted(commit, count);
        printf("{\"seconds\": %.6f, \"client_cpu_s\": %.6f, \"whole_p50_ms\": %.6f, \"commit_p50_ms\": %.6f, "
               "\"commit_p99_ms\": %.6f}\n",
               end - begin, cpu() - cpu_begin, whole[count / 2] * 1e3, commit[count / 2] * 1e3,
               commit[count * 99 / 100] * 1e3);
}

static void consume(rd_kafka_t *rk, rd_kafka_topic_t *topic, int partitions, size_t size, long records) {
        enum { AT_ONCE = 4096 };
        static rd_kafka_message_t *messages[AT_ONCE];
        rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
        double begin = now(), cpu_begin = 0;
        for (int n = 0; n < partitions; n++)
                if (rd_kafka_consume_start_queue(topic, n, OFFSET_BEGINNING, queue))
                        fail("consume", rd_kafka_err2str(rd_kafka_last_error()));
        long seen = 0; /* until the first record is here, librdkafka looks for leaders, with waits of half a second */
        while (seen < records) {
                size_t most = records - seen < AT_ONCE ? (size_t)(records - seen) : AT_ONCE; /* it waits for so many */
                most = seen ? most : 1;
                ssize_t got = rd_kafka_consume_batch_queue(queue, 1000, messages, most);
                for (ssize_t n = 0; n < got; n++) {
                        rd_kafka_message_t *message = messages[n];
                        if (message->err && message->err != PARTITION_EOF)
                                fail("consume", rd_kafka_err2str(message->err));
                        if (!message->err && message->len != size)
                                fail("consume", "a record of another size");
                        seen += !message->err;
                        rd_kafka_message_destroy(message);
                }
                if (seen == 1)
                        begin = now(), cpu_begin = cpu();
                if (now() - begin > 120)
                        fail("consume", "the records did not come within two minutes");
        }
        printf("{\"seconds\": %.6f, \"client_cpu_s\": %.6f}\n", now() - begin, cpu() - cpu_begin);
        fflush(stdout);
        _Exit(0); /* stopping would wait for the fetches under way */
}

int main(int argc, char **argv) {
        if (argc < 7)
                fail("client", "see the head of client.c for its arguments");
        const char *work = argv[1];
        int partitions = atoi(argv[4]);
        size_t size = (size_t)atol(argv[5]);
        long records = atol(argv[6]);
        char *payload = malloc(size);
        for (size_t n = 0; n < size; n++)
                payload[n] = (char)('a' + n % 26);

        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        set(conf, "bootstrap.servers", argv[2]);
        set(conf, "log_level", "3");
        int consumes = !strcmp(work, "consume");
        if (consumes) {
                set(conf, "group.id", "benchmarks");
                set(conf, "enable.auto.commit", "false");
                set(conf, "queued.min.messages", "1000000");
        } else {
                set(conf, "enable.idempotence", "true");
                set(conf, "queue.buffering.max.messages", "500000");
                rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        }
        if (!strcmp(work, "latency"))
                set(conf, "linger.ms", "0");
        if (!strcmp(work, "transactions")) {
                set(conf, "transactional.id", argv[3]);
                set(conf, "linger.ms", "0");
        }
        rd_kafka_t *rk = start(consumes ? CONSUMER : PRODUCER, conf);
        rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, argv[3], NULL);
        if (consumes)
                consume(rk, topic, partitions, size, records);
        else if (!strcmp(work, "produce"))
                produce(rk, topic, partitions, payload, size, records);
        else if (!strcmp(work, "latency"))
                latency(rk, topic, partitions, payload, size, records);
        else if (!strcmp(work, "transactions") && argc == 8)
                transactions(rk, topic, partitions, payload, size, records, atol(argv[7]));
        else
                fail(work, "no such work");
        rd_kafka_topic_destroy(topic);
        rd_kafka_destroy(rk);
        return 0;
}
