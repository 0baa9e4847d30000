/* The files that a command line names: none of its products may be another one or an input. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_FILES_H
#define PPSIM_TOOLS_PPSIM_BASE_FILES_H

#include "tools/ppsim/base/command.h"

/* Checks the products and inputs that are on the command line, before the command reads or writes
 * any. Fails: USAGE (a product is an input, another product or where the output goes, or a name is
 * empty). */
PP_MUST_CHECK pp_status pp_files_check(const pp_args *args, pp_err *err);
/* Checks a product whose name follows from that of another, such as the script of a picture.
 * Fails: as pp_files_check. */
PP_MUST_CHECK pp_status pp_files_check_product(const pp_args *args, const char *path, pp_err *err);
/* Checks an input that is not on the command line, such as a file of a folder. Fails: as
 * pp_files_check. */
PP_MUST_CHECK pp_status pp_files_check_input(const pp_args *args, const char *path, pp_err *err);
/* Returns whether an option reads a file, or may. */
bool pp_files_is_input(const pp_option *option);
/* Returns whether two paths are one file: a file that exists by its device and inode, any other by
 * its name in its folder. What is not a regular file, such as a pipe, is never the same. */
bool pp_files_same(const char *a, const char *b);

#endif
