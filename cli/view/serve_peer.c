/* The user of the program that asks: the kernel's table of connections has the user of each end. */
#include "cli/view/serve.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_ours(unsigned user)
{
    const char *sudo = getenv("SUDO_UID");
    return user == 0 || user == getuid() ||
           (getuid() == 0 && sudo && *sudo && user == strtoul(sudo, NULL, 10));
}

bool serve_stranger(int connection)
{
    struct sockaddr_in theirs, ours;
    socklen_t n = sizeof theirs, m = sizeof ours;
    char line[512];
    if (getpeername(connection, (struct sockaddr *)&theirs, &n) ||
        getsockname(connection, (struct sockaddr *)&ours, &m) || theirs.sin_family != AF_INET)
        return false;
    FILE *f = fopen("/proc/net/tcp", "re");
    bool stranger = false;
    while (f && fgets(line, sizeof line, f)) {
        unsigned a, a_port, b, b_port, user;
        if (sscanf(line, "%*d: %8X:%4X %8X:%4X %*X %*X:%*X %*X:%*X %*X %u", &a, &a_port, &b,
                   &b_port, &user) == 5 &&
            a == theirs.sin_addr.s_addr && a_port == ntohs(theirs.sin_port) &&
            b == ours.sin_addr.s_addr && b_port == ntohs(ours.sin_port)) {
            stranger = !is_ours(user);
            break;
        }
    }
    if (f)
        fclose(f);
    return stranger;
}
