// Reads a trace with simdjson's on-demand reader, for comparison: it looks at those members of every
// event that any importer needs, and stores nothing. It is C++ because simdjson is.
#include "bench/import_peer.h"

#include <simdjson.h>

namespace od = simdjson::ondemand;

static uint64_t seen; // so that nothing is optimised away

static void look_at(simdjson::simdjson_result<od::value> value)
{
    std::string_view token = value.raw_json_token();
    seen += token.size();
}

static void read_event(od::object event)
{
    for (auto member : event) {
        std::string_view key = member.unescaped_key();
        if (key == "ts" || key == "dur" || key == "name" || key == "cat" || key == "ph")
            look_at(member.value());
        else if (key == "args")
            for (auto arg : member.value().get_object())
                look_at(arg.value());
    }
}

extern "C" size_t peer_padding(void)
{
    return simdjson::SIMDJSON_PADDING;
}

extern "C" int64_t peer_read(const char *text, size_t n)
{
    try {
        od::parser parser;
        auto document = parser.iterate(text, n, n + simdjson::SIMDJSON_PADDING);
        od::array events;
        int64_t count = 0;
        if (document.type() == od::json_type::array)
            events = document.get_array();
        else
            events = document.find_field_unordered("traceEvents").get_array();
        for (auto event : events) {
            read_event(event.get_object());
            count++;
        }
        return count;
    } catch (const simdjson::simdjson_error &) {
        return -1;
    }
}
