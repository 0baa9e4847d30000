/* Executes a command, for main and for the library: parses its options, checks and reads the files
 * that they name, runs it, and puts the names of files as they were given into what it says. */
#include "tools/ppsim/base/execute.h"

#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/console.h"
#include "tools/ppsim/base/files.h"
#include "tools/ppsim/base/pipes.h"

pp_status pp_command_execute(const pp_command *command, int argc, char **argv, pp_err *err)
{
    pp_args *args PP_CLEANUP(pp_args_free) = NULL;
    pp_console *console = pp_console_current();
    pp_status status = pp_args_parse(command, argc, argv, &args, err);
    if (!status)
        status = pp_files_check(args, err);
    if (!status)
        status = pp_pipes_read(args, err);
    if (!status)
        status = command->run(args, err);
    if (status)
        err->status = status; /* even if no message was set */
    if (status && args)
        pp_args_restore(args, err);
    if (console && args) {
        pp_args_restore_text(args, &console->json);
        pp_args_restore_text(args, &console->words);
        pp_args_restore_text(args, &console->remarks);
    }
    return status;
}
