/* The element type. The sources that include this are compiled twice (runtime/CMakeLists.txt):
 * for double, and with PP_CPU_FLOAT for float. PP_CPU(name) keeps the two apart. */
#ifndef PPSIM_RUNTIME_CPU_REAL_H
#define PPSIM_RUNTIME_CPU_REAL_H

#ifdef PP_CPU_FLOAT
typedef float pp_real;
#define PP_CPU(name) pp_cpu_##name##_f32
#else
typedef double pp_real;
#define PP_CPU(name) pp_cpu_##name##_f64
#endif

#endif
