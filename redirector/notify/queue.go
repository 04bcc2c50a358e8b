package notify

import "slices"

// key names what an alarm is about. Of one key only the newest state counts.
type key struct{ code, subject string }

func keyOf(a *Alarm) key { return key{a.Code, a.Subject} }

// queue is what one hook has not taken yet, and what it has been told is on.
type queue struct {
	pending map[key]item
	order   []key          // of pending, the oldest first
	told    map[key]string // the id of the alarm that the hook knows to be on
	count   uint64
}

// item is one state that waits. Its number changes with it, so that what is taken
// out after a delivery is what was delivered and nothing newer.
type item struct {
	alarm  Alarm
	number uint64
}

func newQueue() queue { return queue{pending: map[key]item{}, told: map[key]string{}} }

// add has a state wait, in place of an older one of the same alarm. It returns
// how many others had to go.
func (q *queue) add(a Alarm, h *Hook) (dropped int) {
	k := keyOf(&a)
	known := q.told[k] == a.ID
	switch {
	case a.Rank < h.MinRank && !known:
		return 0
	case a.over() && known && !h.SendResolved:
		delete(q.told, k)
		q.remove(k)
		return 0
	case !a.over() && known: // no news
		return 0
	}
	if _, waits := q.pending[k]; !waits {
		for len(q.order) >= maxPending {
			q.remove(q.order[0])
			dropped++
		}
		q.order = append(q.order, k)
	}
	q.count++
	q.pending[k] = item{a, q.count}
	return dropped
}

func (q *queue) remove(k key) {
	delete(q.pending, k)
	if i := slices.Index(q.order, k); i >= 0 {
		q.order = slices.Delete(q.order, i, i+1)
	}
}

// batch returns the oldest states that wait. They wait on until delivered.
func (q *queue) batch() []item {
	out := make([]item, 0, min(len(q.order), maxBatch))
	for _, k := range q.order[:cap(out)] {
		out = append(out, q.pending[k])
	}
	return out
}

// all returns every state that waits.
func (q *queue) all() []Alarm {
	out := make([]Alarm, 0, len(q.order))
	for _, k := range q.order {
		out = append(out, q.pending[k].alarm)
	}
	return out
}

// delivered notes that the hook has taken a batch.
func (q *queue) delivered(batch []item, h *Hook) {
	for i := range batch {
		a := &batch[i].alarm
		k := keyOf(a)
		if a.over() {
			delete(q.told, k)
		} else {
			if len(q.told) >= maxTold {
				for old := range q.told { // any: it only means one end more is told
					delete(q.told, old)
					break
				}
			}
			q.told[k] = a.ID
		}
		now, waits := q.pending[k]
		switch {
		case !waits:
		case now.number == batch[i].number:
			q.remove(k)
		case now.alarm.ID == a.ID && !h.SendResolved: // it ended during the delivery
			delete(q.told, k)
			q.remove(k)
		}
	}
}
