/* The elements around the timeline's canvas. */
#include "report/page/page.h"
#include "report/page/xml.h"

/* Buttons for steps, or for one window, or for neither. */
static void write_tools(const struct page *p, bool steps, const char *whole)
{
    char run[24];
    snprintf(run, sizeof run, "%lld", (long long)page_run_steps(p->a));
    page_put(p,
             "<div class=\"tools\"><button id=\"prev\"%s>previous step</button><button "
             "id=\"next\"%s>next step</button> <button id=\"fit\">whole %s</button><button "
             "id=\"gpuwork\" hidden>its GPU work</button><span id=\"nearest\"></span><button "
             "id=\"run\"%s>whole "
             "run</button><label%s>Step <input type=\"number\" id=\"goto\" min=\"1\" "
             "max=\"%s\"></label><button id=\"zoomin\">zoom in</button><button id=\"zoomout\">zoom "
             "out</button><label>Find <input type=\"search\" id=\"find\" placeholder=\"kernel, "
             "call or range\"></label><button id=\"findlast\">previous match</button><button "
             "id=\"findnext\">next match</button> <span id=\"found\" "
             "role=\"status\"></span><label hidden>After the change <select "
             "id=\"after\"></select></label></div>\n",
             steps ? "" : " hidden", steps ? "" : " hidden", whole,
             p->a->facts->steps.count ? "" : " hidden", steps ? "" : " hidden", run);
}

void page_timeline(const struct page *p)
{
    bool window = analysis_of_window(p->a->facts), steps = !window && p->a->facts->steps.count;
    const char *word = scope_words(p->a->facts)->unit;
    const char *whole = steps || window ? word : "recording";
    const char *map = steps ? "every step with its parts" : window ? "the window" : "its idle time";
    page_put(p, "<section id=\"timeline\"><h2>Timeline</h2>\n<noscript><p>JavaScript draws the "
                "timeline; everything else on this page works without it.</p></noscript>\n<div "
                "class=\"js\">\n");
    write_tools(p, steps, whole);
    page_put(
        p,
        "<p id=\"where\" role=\"status\">Reading the timeline...</p>\n<p id=\"aftertext\" "
        "role=\"status\" hidden></p>\n<div><canvas id=\"minimap\" "
        "role=\"img\" aria-label=\"The whole recording: %s%s, and what of it is in "
        "view below\"></canvas></div>\n<div id=\"frame\" role=\"region\" "
        "aria-label=\"Timeline\"><canvas id=\"canvas\" tabindex=\"0\" role=\"application\" "
        "aria-label=\"Timeline of the %s. Keys: w and s zoom, a and d move, f shows the whole "
        "%s%s, n goes to the next match, l from a launch to its work and back, c folds and p pins "
        "the lane of what is chosen, Escape drops the selection and leaves the timeline."
        "\"></canvas></div>\n<div "
        "id=\"tip\" hidden></div>\n<p class=\"dim help\">Keys: <kbd>w</kbd> <kbd>s</kbd> zoom, "
        "<kbd>a</kbd> <kbd>d</kbd> move, <kbd>f</kbd> whole %s%s, <kbd>n</kbd> next match, "
        "<kbd>l</kbd> from a launch to its work and back, <kbd>c</kbd> folds and <kbd>p</kbd> pins "
        "a lane, <kbd>Esc</kbd> leaves. Drag to sum up a span, click for details; with Ctrl the "
        "wheel zooms.</p>\n<div id=\"details\" role=\"status\"></div>\n<details "
        "class=\"others lanes\"><summary>Lanes</summary><ul "
        "id=\"lanelist\"></ul></details>\n</div></section>\n",
        map, p->a->facts->window_count ? ", hatched where it was not recorded" : "",
        steps ? "chosen step" : whole, whole, steps ? ", left and right arrow choose a step" : "",
        whole, steps ? ", arrows choose a step" : "");
}
