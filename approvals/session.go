package approvals

import (
	"container/list"
	"maps"
	"slices"
	"sync"
)

// sessionChats is how many chats a [SessionCache] remembers, from the
// reference.
const sessionChats = 64

// SessionCache holds the answers that are good for a chat, for as long as the
// process lives. One cache serves all turns of a process; it is safe for
// concurrent use. Past 64 chats the one unused for longest is forgotten, its
// denials included; a denial that must last is deny_always. The zero
// SessionCache is empty and ready.
type SessionCache struct {
	mu    sync.Mutex // guards following
	chats map[string]*list.Element
	order list.List // of *chat, most recently used first
}

// chat is what was said in one chat.
type chat struct {
	id         string
	categories map[string]Effect
	rules      []Rule
}

// session is a copy of a chat's answers, safe to read without the lock.
type session struct {
	categories map[string]Effect
	rules      []Rule
}

// load returns what was said in a chat and marks the chat as used.
func (c *SessionCache) load(id string) session {
	if c == nil {
		return session{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.chats[id]
	if !ok {
		return session{}
	}
	c.order.MoveToFront(e)
	found := chatOf(e)
	return session{maps.Clone(found.categories), slices.Clip(found.rules)}
}

// setCategory keeps an answer for a category. A denial is not undone by a
// later allow, since any denial wins.
func (c *SessionCache) setCategory(id, category string, effect Effect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.touch(id)
	if was, ok := found.categories[category]; ok && was == EffectDeny {
		return
	}
	found.categories[category] = effect
}

// addRule keeps an answer for a command prefix.
func (c *SessionCache) addRule(id string, rule Rule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.touch(id)
	for _, known := range found.rules {
		if known.Equal(rule) {
			return
		}
	}
	found.rules = append(found.rules, rule)
}

// Forget drops everything that was said in a chat.
func (c *SessionCache) Forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.chats[id]; ok {
		c.order.Remove(e)
		delete(c.chats, id)
	}
}

// touch finds or creates a chat, makes it the most recent, and forgets the
// oldest past the limit. The caller holds mu.
func (c *SessionCache) touch(id string) *chat {
	if e, ok := c.chats[id]; ok {
		c.order.MoveToFront(e)
		return chatOf(e)
	}
	if c.chats == nil {
		c.chats = map[string]*list.Element{}
	}
	fresh := &chat{id: id, categories: map[string]Effect{}}
	c.chats[id] = c.order.PushFront(fresh)
	if c.order.Len() > sessionChats {
		oldest := c.order.Back()
		c.order.Remove(oldest)
		delete(c.chats, chatOf(oldest).id)
	}
	return fresh
}

func chatOf(e *list.Element) *chat {
	found, ok := e.Value.(*chat)
	if !ok {
		panic("bug: the session list holds something else than chats")
	}
	return found
}
