/* PTX of one kernel, decoded so that a warp can run it. Everything that an instruction reads is a
 * register of the decoded kernel: constants, addresses of symbols, arguments and special registers
 * (%tid.x) each have their own register, which the runner fills at the start. */
#ifndef VGPU_PTX_H
#define VGPU_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PTX_LANES = 32, PTX_OPERANDS = 12 };

enum ptx_op {           /* in the order of the table in ptx_words.c */
              OP_OTHER, /* its result is not computed */
              OP_MOV,
              OP_ADD,
              OP_SUB,
              OP_MUL,
              OP_MAD,
              OP_DIV,
              OP_REM,
              OP_MIN,
              OP_MAX,
              OP_NEG,
              OP_ABS,
              OP_NOT,
              OP_AND,
              OP_OR,
              OP_XOR,
              OP_SHL,
              OP_SHR,
              OP_SETP,
              OP_SET,
              OP_SELP,
              OP_CVT,
              OP_BFE,
              OP_BFI,
              OP_POPC,
              OP_CLZ,
              OP_BREV,
              OP_BFIND,
              OP_CNOT,
              OP_BMSK,
              OP_SZEXT,
              OP_SAD,
              OP_SLCT,
              OP_COPYSIGN,
              OP_DP4A,
              OP_DP2A,
              OP_LOP3,
              OP_PRMT,
              OP_SHF,
              OP_RCP,
              OP_SQRT,
              OP_RSQRT,
              OP_EX2,
              OP_LG2,
              OP_SIN,
              OP_COS,
              OP_TANH,
              OP_LOAD,
              OP_STORE,
              OP_ATOMIC,
              OP_COPY, /* cp.async: global to shared */
              OP_BULK, /* cp.async.bulk: between global and shared, by a separate unit */
              OP_BRANCH,
              OP_EXIT,
              OP_CALL,
              OP_BARRIER,
              OP_SHUFFLE,
              OP_VOTE,
              OP_ACTIVE,
              OP_ELECT, /* elects one of the lanes */
              OP_READY, /* has a barrier completed? */
              OP_MATRIX,
              OP_TEXTURE,
              OP_NOTHING /* costs nothing */
};

enum ptx_type {
    T_NONE,
    T_U8,
    T_S8,
    T_U16,
    T_S16,
    T_U32,
    T_S32,
    T_U64,
    T_S64,
    T_HALF,
    T_PAIR,
    T_F32,
    T_F64,
    T_PRED
};
enum ptx_space { S_GENERIC, S_GLOBAL, S_SHARED, S_LOCAL, S_CONST, S_PARAM };
enum ptx_compare { C_EQ, C_NE, C_LT, C_LE, C_GT, C_GE, C_OTHER };
enum ptx_part { P_LO, P_HI, P_WIDE, P_RIGHT /* shf.r */, P_SHIFT /* bfind.shiftamt */ };

struct ptx_inst {
    uint8_t op, type, from; /* `from`: the source's type, for a conversion or for set */
    uint8_t space, compare, part;
    uint8_t combine;        /* setp with a third predicate: OP_AND, OP_OR or OP_XOR; 0: without */
    bool guard_not, approx; /* approx: only the special function unit computes it */
    bool combine_not;       /* that third predicate is negated */
    bool constant;          /* a load from memory that does not change (.nc) */
    bool steers;            /* a branch or an address depends on its result */
    bool indexed;           /* an exchange that names the source lane */
    uint8_t outs, ins;      /* number of used entries in `out` and `in` */
    int guard;              /* register of the guard predicate; -1: none */
    int out[8], in[PTX_OPERANDS];
    int address; /* register of the address, to which `offset` is added; -1: none */
    int64_t offset;
    int target;          /* of a branch: index of the instruction */
    double matrix_flops; /* per warp */
    struct {             /* for OP_BULK */
        uint8_t rank;    /* of the tensor; 0: a range of bytes */
        bool stores;     /* it writes global memory */
        int map;         /* index of ptx_kernel.map; -1: a register holds its address */
    } bulk;
};

/* An argument, or a part of one, that describes a tensor (ptx_bulk.h). */
struct ptx_map {
    int param;
    unsigned offset;
};

enum ptx_special {
    SR_TID,        /* x, y, z */
    SR_CTAID = 3,  /* x, y, z */
    SR_NTID = 6,   /* x, y, z */
    SR_NCTAID = 9, /* x, y, z */
    SR_LANE = 12,
    SR_WARP,
    SR_NWARP,
    SR_LANEMASK_LT,
    SR_LANEMASK_LE,
    SR_LANEMASK_GT,
    SR_LANEMASK_GE,
    SR_LANEMASK_EQ,
    SR_CLOCK, /* in cycles */
    SR_TIMER, /* in ns */
    SR_DYNAMIC_SHARED,
    SR_OTHER,
    SR_COUNT
};

/* A part of an argument that the kernel reads. */
struct ptx_slot {
    int param;
    unsigned offset, size;
    int reg;
    bool steers; /* branches or addresses depend on it */
};

struct ptx_kernel {
    struct ptx_inst *inst;
    int inst_count, inst_room;
    int reg_count;
    int special[SR_COUNT]; /* registers; -1: unused */
    struct ptx_constant {
        int reg;
        uint64_t value;
    } * constant;
    int constant_count, constant_room;
    struct ptx_slot slot[256];
    int slot_count;
    struct ptx_map map[16];
    int map_count;
    int param_count;
    /* Offset of each argument in a block of all, and the block's end. */
    unsigned param_at[256], param_end;
    unsigned smem_static;
};

/* Decodes the entry `name`. NULL: not there, or not understood. */
struct ptx_kernel *ptx_read(const char *text, const char *name);
void ptx_free(struct ptx_kernel *k);

/* ptx_words.c: the meaning of an instruction's words. */
int ptx_op_of(const char *word, size_t n);
/* Sets what a suffix (".wide") means; `seen` counts the types so far. */
void ptx_suffix(struct ptx_inst *i, const char *word, size_t n, int *seen);
int ptx_special_of(const char *name, size_t n); /* -1: none */
unsigned ptx_type_bytes(int type);
double ptx_matrix_flops(const char *opcode, size_t n);
/* Marks instructions and slots on which branches or addresses depend. */
void ptx_find_steering(struct ptx_kernel *k);

#endif
