/* Draws small plots as SVG. */
#include "report/page/svg.h"

#include "report/page/xml.h"

#include <math.h>

void svg_open(FILE *f, double width, double height, const char *class, const char *label)
{
    fprintf(f, "<svg viewBox=\"0 0 %g %g\" preserveAspectRatio=\"none\"", width, height);
    xml_printf(f, " class=\"%s\" role=\"img\" aria-label=\"%s\">", class, label);
}

void svg_rect(FILE *f, const char *class, double x, double y, double width, double height)
{
    fprintf(f, "<rect class=\"%s\" x=\"%.5g\" y=\"%.5g\" width=\"%.5g\" height=\"%.5g\"/>", class,
            x, y, width, height);
}

void svg_line(FILE *f, const char *class, double x1, double y1, double x2, double y2)
{
    fprintf(f, "<line class=\"%s\" x1=\"%.5g\" y1=\"%.5g\" x2=\"%.5g\" y2=\"%.5g\"/>", class, x1,
            y1, x2, y2);
}

void svg_bars_begin(FILE *f, const char *class)
{
    fprintf(f, "<path class=\"%s\" d=\"", class);
}

void svg_bar(FILE *f, double x, double y, double width, double height)
{
    fprintf(f, "M%.5g %.4gh%.4gv%.4gh%.4gz", x, y, width, height, -width);
}

void svg_bars_end(FILE *f)
{
    fputs("\"/>", f);
}

void svg_close(FILE *f)
{
    fputs("</svg>\n", f);
}

double svg_nice(double v)
{
    if (!(v > 0))
        return 1;
    double power = pow(10, floor(log10(v)));
    double digit = v / power;
    static const double nice[] = {1, 1.5, 2, 2.5, 3, 4, 5, 6, 8};
    for (size_t i = 0; i < sizeof nice / sizeof *nice; i++)
        if (digit <= nice[i])
            return nice[i] * power;
    return 10 * power;
}
