/* Sums the parts of a step's time into those that a person asks for first, and rounds them by the
 * largest remainders (Hamilton's method), so that the printed shares sum to 100.0 %. */
#include "tools/ppsim/report/shares.h"

static void sum_up(const pp_why *why, pp_ns ns[PP_SHARES])
{
    const pp_ns *part_ns = why->mean_ns;
    ns[PP_SHARE_COMPUTE] = part_ns[PP_WHY_COMPUTE];
    ns[PP_SHARE_TP] = why->exchange_mean_ns[PP_EXCHANGE_TP];
    ns[PP_SHARE_CP] = why->exchange_mean_ns[PP_EXCHANGE_CP];
    ns[PP_SHARE_EP] = why->exchange_mean_ns[PP_EXCHANGE_EP];
    ns[PP_SHARE_PP] = part_ns[PP_WHY_P2P];
    ns[PP_SHARE_DP] = part_ns[PP_WHY_SHARDING];
    ns[PP_SHARE_BUBBLE] = part_ns[PP_WHY_WARM_UP] + part_ns[PP_WHY_COOL_DOWN] +
                          part_ns[PP_WHY_IMBALANCE] + part_ns[PP_WHY_DATA] + part_ns[PP_WHY_BUFFER];
    ns[PP_SHARE_HOST] = part_ns[PP_WHY_HOST] + part_ns[PP_WHY_SYNC];
    ns[PP_SHARE_END] = part_ns[PP_WHY_GRAD_SYNC] + part_ns[PP_WHY_TIED] +
                       part_ns[PP_WHY_OPTIMIZER] + part_ns[PP_WHY_FIXED];
}

pp_shares pp_shares_of(const pp_why *why)
{
    pp_shares shares = { { 0 } };
    pp_ns ns[PP_SHARES];
    double rest[PP_SHARES];
    double all = 0;
    int left = 1000;
    sum_up(why, ns);
    for (int k = 0; k < PP_SHARES; k++)
        all += (double)ns[k];
    if (all <= 0)
        return shares;
    for (int k = 0; k < PP_SHARES; k++) {
        const double exact = 1000 * (double)ns[k] / all;
        shares.tenths[k] = (int)exact;
        rest[k] = exact - shares.tenths[k];
        left -= shares.tenths[k];
    }
    for (; left > 0; left--) {
        int most = 0;
        for (int k = 1; k < PP_SHARES; k++)
            most = rest[k] > rest[most] ? k : most;
        shares.tenths[most]++;
        rest[most] = -1;
    }
    return shares;
}

static void add(int tenths, const char *what, pp_text *words)
{
    if (tenths)
        pp_text_add(words, "%s%d.%d %% %s", words->bytes ? ", " : "", tenths / 10, tenths % 10,
                    what);
}

/* Appends " with its tp and cp exchange". */
static void add_groups(const pp_parallel *parallel, pp_text *words)
{
    const char *mark = " with its ";
    const struct {
        const char *name;
        int64_t degree;
    } groups[] = { { "tp", parallel->tp }, { "cp", parallel->cp }, { "ep", parallel->ep } };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (groups[i].degree <= 1)
            continue;
        pp_text_add(words, "%s%s", mark, groups[i].name);
        mark = " and ";
    }
    pp_text_add(words, " exchange");
}

void pp_shares_print(const pp_shares *shares, const pp_parallel *parallel, bool together,
                     pp_text *words)
{
    static const char *const groups[PP_SHARES] = { [PP_SHARE_TP] = "tp",
                                                   [PP_SHARE_CP] = "cp",
                                                   [PP_SHARE_EP] = "ep",
                                                   [PP_SHARE_PP] = "pp",
                                                   [PP_SHARE_DP] = "dp" };
    const bool used[PP_SHARES] = { [PP_SHARE_TP] = !together && parallel->tp > 1,
                                   [PP_SHARE_CP] = !together && parallel->cp > 1,
                                   [PP_SHARE_EP] = !together && parallel->ep > 1,
                                   [PP_SHARE_PP] = parallel->pp > 1,
                                   [PP_SHARE_DP] = shares->tenths[PP_SHARE_DP] > 0 };
    const int *tenths = shares->tenths;
    int exchange = 0;
    const char *mark = " (";
    for (int k = PP_SHARE_TP; k <= PP_SHARE_DP; k++)
        exchange += tenths[k];
    add(tenths[PP_SHARE_COMPUTE], "compute", words);
    if (together && tenths[PP_SHARE_COMPUTE])
        add_groups(parallel, words);
    add(exchange, "exchange", words);
    for (int k = PP_SHARE_TP; k <= PP_SHARE_DP; k++) {
        if (!exchange || (!tenths[k] && !used[k]))
            continue;
        pp_text_add(words, "%s%s %d.%d", mark, groups[k], tenths[k] / 10, tenths[k] % 10);
        mark = ", ";
    }
    if (exchange)
        pp_text_add(words, ")");
    add(tenths[PP_SHARE_BUBBLE], "bubble", words);
    add(tenths[PP_SHARE_HOST], "host", words);
    add(tenths[PP_SHARE_END], "end of step", words);
}
