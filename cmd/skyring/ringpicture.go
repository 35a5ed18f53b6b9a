package main

import (
	"fmt"
	"io"
	"math"

	svg "github.com/ajstarks/svgo"

	"skyring/ring"
)

// Sizes of the picture, in its own units.
const (
	pictureSize   = 640
	pictureCentre = pictureSize / 2
	slotsOuter    = 300 // radius of the slots' band
	slotsInner    = 250
	sharesOuter   = 240 // radius of the shares' band
	sharesInner   = 150
	legendLine    = 22
	sectors       = 1024 // slots drawn, evenly taken from all
	legendMost    = 28   // nodes in the legend
	legendName    = 20   // characters of a node's id there
	segmentName   = 9    // and in its share
)

// picture draws a ring: outside slots with their owners, inside the nodes' shares.
type picture struct {
	w    io.Writer
	view *ringView
	ring *ring.Ring
	err  error // the first of writing
}

// Write keeps the first error, which the drawing library drops.
func (p *picture) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	if p.err == nil {
		p.err = err
	}

	return n, err
}

func (p *picture) draw() {
	height := max(pictureSize, 60+legendLine*(min(len(p.view.Nodes), legendMost)+3))

	canvas := svg.New(p)
	canvas.Start(pictureSize+320, height)
	canvas.Title(fmt.Sprintf("ring of %d nodes, %d slots", len(p.view.Nodes), p.view.Slots))
	canvas.Rect(0, 0, pictureSize+320, height, "fill:white")
	canvas.Gstyle("font-family:sans-serif;font-size:14px")
	p.slots(canvas)
	p.shares(canvas)
	p.legend(canvas)
	canvas.Gend()
	canvas.End()
}

// slots draws the owners of slots; neighbours of one owner are one piece.
func (p *picture) slots(canvas *svg.SVG) {
	count := min(sectors, p.ring.Slots())
	owner := func(sector int) int { return p.ring.Owner(sector * p.ring.Slots() / count) }

	for from := 0; from < count; {
		to := from + 1
		for to < count && owner(to) == owner(from) {
			to++
		}

		if n := owner(from); n != ring.NoNode {
			canvas.Path(arc(slotsInner, slotsOuter, float64(from)/float64(count), float64(to)/float64(count)), p.fill(n))
		}

		from = to
	}
}

// shares draws each node's share as one piece, with its name where there is room.
func (p *picture) shares(canvas *svg.SVG) {
	at := 0.0

	for i, n := range p.view.Nodes {
		canvas.Path(arc(sharesInner, sharesOuter, at, at+n.Share), p.fill(i)+";stroke:white;stroke-width:1")

		if n.Share > 0.025 {
			x, y := point(float64(sharesInner+sharesOuter)/2, at+n.Share/2)
			canvas.Text(int(x), int(y)+5, shortened(n.ID, segmentName), "text-anchor:middle;fill:white")
		}

		at += n.Share
	}

	canvas.Text(pictureCentre, pictureCentre-8, fmt.Sprintf("%d nodes", len(p.view.Nodes)), "text-anchor:middle;font-size:22px")
	canvas.Text(pictureCentre, pictureCentre+16, fmt.Sprintf("%d slots", p.view.Slots), "text-anchor:middle")
	canvas.Text(pictureCentre, pictureCentre+38, p.view.Checksum.String(), "text-anchor:middle;fill:gray;font-size:12px")
}

func (p *picture) legend(canvas *svg.SVG) {
	x, y := pictureSize+16, 40
	canvas.Text(x, y, "outside: slots with their owners; inside: shares", "font-size:12px;fill:gray")

	for i, n := range p.view.Nodes {
		y += legendLine
		if i == legendMost {
			canvas.Text(x, y, fmt.Sprintf("and %d more", len(p.view.Nodes)-i))

			return
		}

		canvas.Rect(x, y-12, 14, 14, p.fill(i))
		canvas.Text(x+22, y, fmt.Sprintf("%s  %.2f %%  %s", shortened(n.ID, legendName), 100*n.Share, n.State))
	}
}

// fill is the colour of a node: neighbours in number are far apart in hue, and a node that is not open is pale.
func (p *picture) fill(node int) string {
	hue := int(math.Mod(float64(node)*137.508, 360)) // the golden angle
	saturation, lightness := 60, 42+8*(node%3)

	if p.view.Nodes[node].State != ring.Open.String() {
		saturation, lightness = 25, 80
	}

	return fmt.Sprintf("fill:hsl(%d,%d%%,%d%%)", hue, saturation, lightness)
}

// shortened is an id of at most so many characters: the ends tell more than the middle.
func shortened(id string, most int) string {
	if len(id) <= most {
		return id
	}

	return id[:most/2] + "…" + id[len(id)-(most-most/2-1):]
}

// arc is the path of a piece of a band between two radii, from and to in turns of the circle.
func arc(inner, outer int, from, to float64) string {
	to = min(to, from+0.9999) // a whole circle has no beginning and end
	large := 0

	if to-from > 0.5 {
		large = 1
	}

	ax, ay := point(float64(outer), from)
	bx, by := point(float64(outer), to)
	cx, cy := point(float64(inner), to)
	dx, dy := point(float64(inner), from)

	return fmt.Sprintf("M%.2f %.2f A%d %d 0 %d 1 %.2f %.2f L%.2f %.2f A%d %d 0 %d 0 %.2f %.2f Z",
		ax, ay, outer, outer, large, bx, by, cx, cy, inner, inner, large, dx, dy)
}

// point is the place at a radius and an angle in turns, from the top and clockwise.
func point(radius, turns float64) (x, y float64) {
	sin, cos := math.Sincos(2 * math.Pi * turns)

	return pictureCentre + radius*sin, pictureCentre - radius*cos
}
