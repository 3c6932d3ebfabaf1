/* What devices can compute at most, by the data sheets of their makers. */
#ifndef GPUPROF_MEASURE_PEAKS_H
#define GPUPROF_MEASURE_PEAKS_H

/* Types of numbers that differ in their peak. */
enum peak_type { PEAK_FP64, PEAK_FP32, PEAK_TF32, PEAK_16_BITS, PEAK_8_BITS, PEAK_TYPES };

struct peak {
    const char *device;        /* a part of its name */
    double tflops[PEAK_TYPES]; /* 10^12 operations per second, without sparsity; 0: not known */
    const char *source;
};

/* By the name that the driver gives the device; NULL: not in the table. */
const struct peak *peak_of(const char *device);
/* In English: "TF32", "16 bits". */
const char *peak_type_text(enum peak_type type);

#endif
