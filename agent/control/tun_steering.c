#include "agent/control/tun_steering.h"
#include "common/cleanup.h"
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One instruction: operation, target and source register, jump distance, constant. */
#define INSN(op, to, from, jump, constant)                                                         \
    {                                                                                              \
        .code = (op), .dst_reg = (to), .src_reg = (from), .off = (jump), .imm = (constant)         \
    }

/* Loads give host order in r0 and end the program (queue 0) beyond the packet's end; they leave
 * r1 to r5 undefined and want the context in r6. Offset 0 is the IP header. */
#define LOAD(size, at)              INSN(BPF_LD | BPF_ABS | (size), 0, 0, 0, at)
#define LOAD_BEHIND(size, reg, at)  INSN(BPF_LD | BPF_IND | (size), 0, reg, 0, at)
#define MOVE(to, from)              INSN(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define SET(to, constant)           INSN(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, constant)
#define XOR(to, from)               INSN(BPF_ALU64 | BPF_XOR | BPF_X, to, from, 0, 0)
#define CALC(op, to, constant)      INSN(BPF_ALU | (op) | BPF_K, to, 0, 0, constant)
#define IF(op, reg, constant, skip) INSN(BPF_JMP | (op) | BPF_K, reg, 0, skip, constant)
#define SKIP(n)                     INSN(BPF_JMP | BPF_JA, 0, 0, n, 0)

#define MIX ((int32_t)0x9e3779b1) /* 2^32 divided by the golden ratio, odd */

/* r8: exclusive or of what both directions have in common. r7: where the ports are. */
static const struct bpf_insn program[] = {
    MOVE(6, 1),
    LOAD(BPF_B, 0),
    MOVE(7, 0),
    CALC(BPF_RSH, 0, 4),
    IF(BPF_JEQ, 0, 6, 11), /* to IPv6 */
    /* IPv4: addresses; ports unless it is a fragment */
    LOAD(BPF_W, 12),
    MOVE(8, 0),
    LOAD(BPF_W, 16),
    XOR(8, 0),
    CALC(BPF_AND, 7, 15),
    CALC(BPF_LSH, 7, 2),
    LOAD(BPF_H, 6),
    CALC(BPF_AND, 0, 0x3fff),
    IF(BPF_JNE, 0, 0, 27), /* to the end */
    LOAD(BPF_B, 9),
    SKIP(19), /* to the ports */
    /* IPv6: addresses; ports unless there are extension headers */
    SET(8, 0),
    LOAD(BPF_W, 8),
    XOR(8, 0),
    LOAD(BPF_W, 12),
    XOR(8, 0),
    LOAD(BPF_W, 16),
    XOR(8, 0),
    LOAD(BPF_W, 20),
    XOR(8, 0),
    LOAD(BPF_W, 24),
    XOR(8, 0),
    LOAD(BPF_W, 28),
    XOR(8, 0),
    LOAD(BPF_W, 32),
    XOR(8, 0),
    LOAD(BPF_W, 36),
    XOR(8, 0),
    SET(7, 40),
    LOAD(BPF_B, 6),
    /* ports */
    IF(BPF_JEQ, 0, IPPROTO_TCP, 1),
    IF(BPF_JNE, 0, IPPROTO_UDP, 4), /* to the end */
    LOAD_BEHIND(BPF_H, 7, 0),
    XOR(8, 0),
    LOAD_BEHIND(BPF_H, 7, 2),
    XOR(8, 0),
    /* the end: upper bits of a product depend on all of r8; the kernel takes them modulo the queues
     */
    CALC(BPF_MUL, 8, MIX),
    CALC(BPF_RSH, 8, 16),
    MOVE(0, 8),
    INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
};

static int load(struct err *e)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
    attr.insns = (uint64_t)(uintptr_t)program;
    attr.insn_cnt = sizeof program / sizeof program[0];
    attr.license = (uint64_t)(uintptr_t) "";
    memcpy(attr.prog_name, "hawser_steering", sizeof "hawser_steering");
    long fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr);
    return fd < 0 ? err_errno(e, errno, "load the steering program") : (int)fd;
}

int tun_steering_attach(int queue_fd, struct err *e)
{
    auto_close int fd = load(e);
    if (fd < 0)
        return fd;
    if (ioctl(queue_fd, TUNSETSTEERINGEBPF, &fd) < 0)
        return err_errno(e, errno, "attach the steering program");
    return 0;
}
