package relay

import "sync"

// Buffer sizes: the small one holds any interactive exchange, the large one is
// what loopback delivers at once.
const (
	smallSize = 16 << 10
	largeSize = 64 << 10
)

// pool hands out buffers of one size. The zero value is not usable.
type pool struct {
	p sync.Pool
}

func newPool(size int) *pool {
	return &pool{sync.Pool{New: func() any { b := make([]byte, size); return &b }}}
}

func (p *pool) get() *[]byte {
	b, ok := p.p.Get().(*[]byte)
	if !ok {
		panic("bug: foreign value in a buffer pool")
	}
	return b
}

func (p *pool) put(b *[]byte) { p.p.Put(b) }
