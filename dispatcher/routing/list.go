package routing

// hook is an item's place in one list; an item has a hook for each list that it can
// be in. item is set once, when the item is made.
type hook[T any] struct {
	prev, next *hook[T]
	list       *list[T]
	item       *T
}

// list is doubly linked through the hooks of its items, so that adding and removing
// cost no allocation and no search. The zero value is empty.
type list[T any] struct {
	head, tail *hook[T]
	n          int
}

func (l *list[T]) len() int { return l.n }

// front is the first item, nil of an empty list.
func (l *list[T]) front() *T {
	if l.head == nil {
		return nil
	}

	return l.head.item
}

// back is the last item, nil of an empty list.
func (l *list[T]) back() *T {
	if l.tail == nil {
		return nil
	}

	return l.tail.item
}

// pushBack appends an item that is in no list.
func (l *list[T]) pushBack(h *hook[T]) {
	if h.list != nil {
		panic("routing: item is in a list already")
	}

	h.list, h.prev, h.next = l, l.tail, nil
	if l.tail == nil {
		l.head = h
	} else {
		l.tail.next = h
	}

	l.tail = h
	l.n++
}

// pushFront puts an item that is in no list before all others.
func (l *list[T]) pushFront(h *hook[T]) {
	if h.list != nil {
		panic("routing: item is in a list already")
	}

	h.list, h.prev, h.next = l, nil, l.head
	if l.head == nil {
		l.tail = h
	} else {
		l.head.prev = h
	}

	l.head = h
	l.n++
}

// remove takes the item out of whichever list it is in, if any.
func (h *hook[T]) remove() {
	l := h.list
	if l == nil {
		return
	}

	if h.prev == nil {
		l.head = h.next
	} else {
		h.prev.next = h.next
	}

	if h.next == nil {
		l.tail = h.prev
	} else {
		h.next.prev = h.prev
	}

	h.list, h.prev, h.next = nil, nil, nil
	l.n--
}

func (h *hook[T]) linked() bool { return h.list != nil }

// after is the item that follows, nil at the end.
func (h *hook[T]) after() *T {
	if h.next == nil {
		return nil
	}

	return h.next.item
}

// before is the item that precedes, nil at the beginning.
func (h *hook[T]) before() *T {
	if h.prev == nil {
		return nil
	}

	return h.prev.item
}
