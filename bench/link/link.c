// A bad network between two network namespaces, for kernels without netem.
// Makes a TUN device in each, and carries IP packets from one to the other
// with delay, jitter, loss, reordering, and a rate with a drop-tail queue.
//
//   link run NS_A NS_B SOCKET [key=value ...]   forwards until SIGTERM
//   link ctl SOCKET set key=value ...           changes the settings
//   link ctl SOCKET stats                       counters as JSON, then zero
//
// Keys are described in src/link.ts, which compiles and runs this.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define VNET 10            // struct virtio_net_hdr, handed on as it is
#define BUF (VNET + 65536)
#define LATE 2000          // histogram of lateness, in steps of 10 us

typedef int64_t ns;
static ns now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
static void die(const char *what) { fprintf(stderr, "link: %s: %s\n", what, strerror(errno)); exit(1); }

struct packet { ns due; uint64_t no; int len; unsigned char data[]; };
struct dir {
  const char *name; int in, out;
  double delay, jitter, loss, burst, reorder, hold, rate; long queue; // ms, ms, %, packets, %, ms, Mbit/s, packets
  int losing;                                                   // the packet before was lost
  uint64_t rng, no;
  ns last_due, free_at;
  struct packet **heap; int n, cap;
  ns *leaves; long head, waiting, leaves_cap;                   // when queued packets leave the rate limiter
  uint64_t seen, sent, lost, dropped, held, bytes, failed;
  uint64_t late[LATE]; double late_sum; ns late_max; int most;
};
static struct dir d[2] = {{.name = "ab"}, {.name = "ba"}};
static uint64_t seed = 1;

static double draw(struct dir *x) { // splitmix64, 0 <= r < 1
  uint64_t z = (x->rng += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return ((z ^ (z >> 31)) >> 11) * 0x1p-53;
}
static void reseed(void) { for (int i = 0; i < 2; i++) { d[i].rng = seed * 1000003 + i * 7919; d[i].losing = 0; for (int k = 0; k < 4; k++) draw(&d[i]); } }

static int before(struct packet *a, struct packet *b) { return a->due < b->due || (a->due == b->due && a->no < b->no); }
static void push(struct dir *x, struct packet *p) {
  if (x->n == x->cap) { x->cap = x->cap ? x->cap * 2 : 1024; x->heap = realloc(x->heap, x->cap * sizeof *x->heap); }
  int i = x->n++;
  for (; i && before(p, x->heap[(i - 1) / 2]); i = (i - 1) / 2) x->heap[i] = x->heap[(i - 1) / 2];
  x->heap[i] = p;
  if (x->n > x->most) x->most = x->n;
}
static struct packet *pop(struct dir *x) {
  struct packet *top = x->heap[0], *p = x->heap[--x->n];
  int i = 0;
  for (int c; (c = 2 * i + 1) < x->n; i = c) {
    if (c + 1 < x->n && before(x->heap[c + 1], x->heap[c])) c++;
    if (!before(x->heap[c], p)) break;
    x->heap[i] = x->heap[c];
  }
  if (x->n) x->heap[i] = p;
  return top;
}

static void take(struct dir *x, unsigned char *b, int len, ns t) {
  x->seen++;
  // Three draws for every packet, so that one setting does not shift another's sequence.
  double l = draw(x), j = draw(x), r = draw(x);
  // Bursts of `burst` lost packets on average, `loss` of all packets; 1 makes every packet independent.
  double rate = x->loss / 100, chance = rate;
  if (x->burst > 1 && rate < 1) chance = x->losing ? 1 - 1 / x->burst : rate / (1 - rate) / x->burst;
  x->losing = l < chance;
  if (x->losing) { x->lost++; return; }
  ns leave = t;
  if (x->rate > 0) {
    while (x->waiting && x->leaves[x->head % x->leaves_cap] <= t) { x->head++; x->waiting--; }
    if (x->waiting >= x->queue) { x->dropped++; return; }
    if (x->leaves_cap < x->queue + 1) {
      x->leaves_cap = x->queue + 1; x->leaves = realloc(x->leaves, x->leaves_cap * sizeof(ns)); x->head = x->waiting = 0;
    }
    leave = (x->free_at > t ? x->free_at : t) + (ns)((len - VNET) * 8000.0 / x->rate);
    x->free_at = leave;
    x->leaves[(x->head + x->waiting++) % x->leaves_cap] = leave;
  }
  double ms = x->delay + (2 * j - 1) * x->jitter;
  ns due = leave + (ns)((ms > 0 ? ms : 0) * 1e6);
  if (r * 100 < x->reorder) { due += (ns)(x->hold * 1e6); x->held++; } // others overtake it
  else { if (due < x->last_due) due = x->last_due; x->last_due = due; }
  struct packet *p = malloc(sizeof *p + len);
  p->due = due; p->no = x->no++; p->len = len; memcpy(p->data, b, len);
  push(x, p);
}

static void release(struct dir *x) {
  while (x->n) {
    ns t = now(), late = t - x->heap[0]->due;
    if (late < 0) break;
    struct packet *p = pop(x);
    if (write(x->out, p->data, p->len) == p->len) { x->sent++; x->bytes += p->len - VNET; } else x->failed++;
    x->late[late / 10000 < LATE ? late / 10000 : LATE - 1]++;
    x->late_sum += late; if (late > x->late_max) x->late_max = late;
    free(p);
  }
}

static double quantile(struct dir *x, double q) {
  uint64_t all = 0, sum = 0;
  for (int i = 0; i < LATE; i++) all += x->late[i];
  for (int i = 0; i < LATE; i++) if ((sum += x->late[i]) >= q * all && sum) return (i + 1) * 0.01;
  return 0;
}
static int stats(char *o, int cap) {
  int n = snprintf(o, cap, "{\"seed\":%llu", (unsigned long long)seed);
  for (int i = 0; i < 2; i++) {
    struct dir *x = &d[i]; uint64_t all = x->sent + x->failed;
    n += snprintf(o + n, cap - n, ",\"%s\":{\"delay\":%g,\"jitter\":%g,\"loss\":%g,\"burst\":%g,\"reorder\":%g,\"rate\":%g,\"seen\":%llu,\"sent\":%llu,\"lost\":%llu,\"dropped\":%llu,\"held\":%llu,\"failed\":%llu,\"bytes\":%llu,\"mostInside\":%d,\"lateMs\":{\"mean\":%.4f,\"p50\":%.2f,\"p99\":%.2f,\"max\":%.3f}}",
      x->name, x->delay, x->jitter, x->loss, x->burst > 1 ? x->burst : 1, x->reorder, x->rate, (unsigned long long)x->seen, (unsigned long long)x->sent, (unsigned long long)x->lost,
      (unsigned long long)x->dropped, (unsigned long long)x->held, (unsigned long long)x->failed, (unsigned long long)x->bytes, x->most,
      all ? x->late_sum / all / 1e6 : 0, quantile(x, 0.5), quantile(x, 0.99), x->late_max / 1e6);
    x->seen = x->sent = x->lost = x->dropped = x->held = x->failed = x->bytes = 0;
    x->late_sum = 0; x->late_max = 0; x->most = 0; memset(x->late, 0, sizeof x->late);
  }
  return n + snprintf(o + n, cap - n, "}");
}

static int set(char *kv, char *err, int cap) { // key=value; a key ending in -ab or -ba is for one direction
  char *eq = strchr(kv, '='), *end;
  if (!eq) { snprintf(err, cap, "not key=value: %s", kv); return 0; }
  *eq = 0;
  double v = strtod(eq + 1, &end);
  if (end == eq + 1 || *end || v < 0) { snprintf(err, cap, "bad value: %s=%s", kv, eq + 1); return 0; }
  if (!strcmp(kv, "seed")) { seed = v; reseed(); return 1; }
  int from = 0, to = 2; size_t n = strlen(kv);
  if (n > 3 && !strcmp(kv + n - 3, "-ab")) { to = 1; kv[n - 3] = 0; }
  else if (n > 3 && !strcmp(kv + n - 3, "-ba")) { from = 1; kv[n - 3] = 0; }
  for (int i = from; i < to; i++) {
    struct dir *x = &d[i];
    if (!strcmp(kv, "delay")) x->delay = v;
    else if (!strcmp(kv, "jitter")) x->jitter = v;
    else if (!strcmp(kv, "loss")) x->loss = v;
    else if (!strcmp(kv, "burst")) x->burst = v;
    else if (!strcmp(kv, "reorder")) x->reorder = v;
    else if (!strcmp(kv, "hold")) x->hold = v;
    else if (!strcmp(kv, "rate")) x->rate = v;
    else if (!strcmp(kv, "queue")) x->queue = v;
    else { snprintf(err, cap, "no such key: %s", kv); return 0; }
  }
  return 1;
}

// A TUN device called tun0 in the namespace of that name. It takes packets
// whose checksum is still to do (they never leave this machine), which is what
// lets programs use UDP segmentation offload on it; larger offloads stay off,
// so that what is delayed and lost is always one packet of the MTU.
static int tun(const char *space) {
  char path[300];
  snprintf(path, sizeof path, "/var/run/netns/%s", space);
  int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), there = open(path, O_RDONLY | O_CLOEXEC);
  if (there < 0) die(path);
  if (setns(there, CLONE_NEWNET)) die("setns");
  int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) die("/dev/net/tun");
  struct ifreq r = {.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR};
  strcpy(r.ifr_name, "tun0");
  if (ioctl(fd, TUNSETIFF, &r)) die("TUNSETIFF");
  if (ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM)) die("TUNSETOFFLOAD");
  if (setns(home, CLONE_NEWNET)) die("setns back");
  close(home); close(there);
  return fd;
}

static volatile sig_atomic_t stop;
static void on_stop(int s) { (void)s; stop = 1; }

static struct sockaddr_un at(const char *path) {
  struct sockaddr_un a = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof a.sun_path) { fprintf(stderr, "link: path too long: %s\n", path); exit(1); }
  strcpy(a.sun_path, path);
  return a;
}

static int ctl(int argc, char **argv) {
  char msg[2000] = "", mine[108], answer[4000];
  struct sockaddr_un a = at(argv[2]);
  for (int i = 3; i < argc; i++) { strncat(msg, argv[i], sizeof msg - strlen(msg) - 2); strcat(msg, " "); }
  int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  snprintf(mine, sizeof mine, "%.90s.%d", argv[2], getpid());
  struct sockaddr_un me = at(mine);
  if (bind(s, (void *)&me, sizeof me)) die("bind");
  struct timeval tv = {2, 0};
  setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
  int n = connect(s, (void *)&a, sizeof a) || send(s, msg, strlen(msg), 0) < 0 ? -1 : recv(s, answer, sizeof answer - 1, 0);
  unlink(mine);
  if (n < 0) die("no link there");
  answer[n] = 0;
  puts(answer);
  return strncmp(answer, "error", 5) ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc >= 4 && !strcmp(argv[1], "ctl")) return ctl(argc, argv);
  if (argc < 5 || strcmp(argv[1], "run")) { fprintf(stderr, "usage: link run NS_A NS_B SOCKET [key=value ...] | link ctl SOCKET set key=value ... | link ctl SOCKET stats\n"); return 2; }
  for (int i = 0; i < 2; i++) { d[i].hold = 2; d[i].queue = 1000; }
  reseed();
  char err[300];
  for (int i = 5; i < argc; i++) if (!set(argv[i], err, sizeof err)) { fprintf(stderr, "link: %s\n", err); return 2; }

  int a = tun(argv[2]), b = tun(argv[3]);
  d[0].in = d[1].out = a; d[0].out = d[1].in = b;
  int cs = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  struct sockaddr_un sa = at(argv[4]);
  if (bind(cs, (void *)&sa, sizeof sa)) die("bind");
  signal(SIGTERM, on_stop); signal(SIGINT, on_stop);
  prctl(PR_SET_TIMERSLACK, 1UL);
  mlockall(MCL_CURRENT | MCL_FUTURE);
  // Ahead of what is measured, or the delay would depend on how busy that is.
  struct sched_param sp = {.sched_priority = 1};
  int rt = !sched_setscheduler(0, SCHED_FIFO, &sp);
  printf("{\"ready\":true,\"pid\":%d,\"realtime\":%s}\n", getpid(), rt ? "true" : "false");
  fflush(stdout);

  static unsigned char buf[BUF];
  struct pollfd p[3] = {{a, POLLIN, 0}, {b, POLLIN, 0}, {cs, POLLIN, 0}};
  while (!stop) {
    ns next = -1, t = now();
    for (int i = 0; i < 2; i++) if (d[i].n && (next < 0 || d[i].heap[0]->due < next)) next = d[i].heap[0]->due;
    struct timespec w = {0, 0};
    if (next > t) { w.tv_sec = (next - t) / 1000000000; w.tv_nsec = (next - t) % 1000000000; }
    if (ppoll(p, 3, next < 0 ? NULL : &w, NULL) < 0 && errno != EINTR) die("ppoll");
    // In turns, so that neither direction keeps the other waiting.
    for (int more = 1, k = 0; more && k < 64; k++) {
      more = 0;
      for (int i = 0; i < 2; i++) {
        if (!(p[i].revents & POLLIN)) continue;
        int n = read(d[i].in, buf, sizeof buf);
        if (n > VNET) { take(&d[i], buf, n, now()); more = 1; }
        else if (n < 0 && errno != EAGAIN && errno != EINTR && errno != EIO) die("read");
      }
      release(&d[0]); release(&d[1]);
    }
    release(&d[0]); release(&d[1]);
    if (p[2].revents & POLLIN) {
      char msg[2000], out[4000] = "ok";
      struct sockaddr_un who; socklen_t wl = sizeof who;
      int n = recvfrom(cs, msg, sizeof msg - 1, 0, (void *)&who, &wl);
      if (n > 0) {
        msg[n] = 0;
        char *save, *w1 = strtok_r(msg, " ", &save), *kv;
        if (w1 && !strcmp(w1, "stats")) stats(out, sizeof out);
        else if (w1 && !strcmp(w1, "set")) { while ((kv = strtok_r(NULL, " ", &save))) if (!set(kv, err, sizeof err)) { snprintf(out, sizeof out, "error: %s", err); break; } }
        else strcpy(out, "error: set or stats");
        sendto(cs, out, strlen(out), 0, (void *)&who, wl);
      }
    }
  }
  unlink(argv[4]);
  return 0;
}
