/* The element type. The sources that include this header are compiled twice
 * (runtime/CMakeLists.txt): for double, and with PP_CPU_FLOAT for float. The macros below give the
 * functions of the two different names. */
#ifndef PPSIM_RUNTIME_CPU_REAL_H
#define PPSIM_RUNTIME_CPU_REAL_H

#ifdef PP_CPU_FLOAT
typedef float pp_real;
#define PP_CPU(name) pp_cpu_##name##_f32
#else
typedef double pp_real;
#define PP_CPU(name) pp_cpu_##name##_f64
#endif

#define pp_cpu_dot PP_CPU(dot)
#define pp_cpu_norm_forward PP_CPU(norm_forward)
#define pp_cpu_norm_backward PP_CPU(norm_backward)
#define pp_cpu_gelu_forward PP_CPU(gelu_forward)
#define pp_cpu_gelu_backward PP_CPU(gelu_backward)
#define pp_cpu_mul PP_CPU(mul)
#define pp_cpu_mul_bt PP_CPU(mul_bt)
#define pp_cpu_mul_at PP_CPU(mul_at)
#define pp_cpu_attention_forward PP_CPU(attention_forward)
#define pp_cpu_attention_backward PP_CPU(attention_backward)
#define pp_cpu_token_input PP_CPU(token_input)
#define pp_cpu_token_loss PP_CPU(token_loss)
#define pp_cpu_token_gradient PP_CPU(token_gradient)

#endif
