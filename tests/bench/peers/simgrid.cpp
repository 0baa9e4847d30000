/* 1F1B in SimGrid, for tests/bench/peers.py: an actor per rank, a mailbox per direction and rank with
 * a permanent receiver (eager sends), transfers that take the latency of a link.
 *   simgrid RANKS MICROBATCHES FORWARD BACKWARD TRANSFER   (times in ns) */
#include <simgrid/s4u.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace sg4 = simgrid::s4u;

static long ranks, microbatches;
static double forward_s, backward_s;
static int payload;

static sg4::Mailbox *box(const char *kind, long rank)
{
    return sg4::Mailbox::by_name(kind + std::to_string(rank));
}

static void work(long rank)
{
    sg4::Mailbox *activations = box("f", rank), *gradients = box("b", rank);
    activations->set_receiver(sg4::Actor::self());
    gradients->set_receiver(sg4::Actor::self());
    long warm = ranks - 1 - rank < microbatches ? ranks - 1 - rank : microbatches;
    for (long k = 0; k < microbatches + warm; k++) {
        if (k < microbatches) {
            if (rank > 0)
                activations->get<int>();
            sg4::this_actor::sleep_for(forward_s);
            if (rank + 1 < ranks)
                box("f", rank + 1)->put_init(&payload, 1)->detach();
        }
        if (k >= warm) {
            if (rank + 1 < ranks)
                gradients->get<int>();
            sg4::this_actor::sleep_for(backward_s);
            if (rank > 0)
                box("b", rank - 1)->put_init(&payload, 1)->detach();
        }
    }
}

int main(int argc, char **argv)
{
    sg4::Engine engine(&argc, argv);
    if (argc != 6)
        return EXIT_FAILURE;
    ranks = std::atol(argv[1]);
    microbatches = std::atol(argv[2]);
    forward_s = std::atof(argv[3]) * 1e-9;
    backward_s = std::atof(argv[4]) * 1e-9;
    auto *zone = sg4::create_full_zone("all");
    std::vector<sg4::Host *> host;
    for (long r = 0; r < ranks; r++)
        host.push_back(zone->create_host("h" + std::to_string(r), 1e9));
    for (long r = 0; r + 1 < ranks; r++) {
        auto *link = zone->create_link("l" + std::to_string(r), 1e18);
        link->set_latency(std::atof(argv[5]) * 1e-9)->seal();
        zone->add_route(host[r]->get_netpoint(), host[r + 1]->get_netpoint(), nullptr, nullptr,
                        {sg4::LinkInRoute(link)}, true);
    }
    zone->seal();
    for (long r = 0; r < ranks; r++)
        sg4::Actor::create("r", host[r], work, r);
    engine.run();
    std::printf("%.0f\n", sg4::Engine::get_clock() * 1e9);
    return EXIT_SUCCESS;
}
