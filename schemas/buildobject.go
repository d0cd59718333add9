package schemas

import (
	"math/bits"
	"slices"
	"strings"
)

// manyProps is from how many props on a map finds one faster than a search.
const manyProps = 9

// objectRule applies the keywords for objects.
func (b *builder) objectRule(n *node, doc map[string]any, at place) error {
	if !has(doc, "properties", "required", "additionalProperties", "minProperties", "maxProperties", "anyOf", "oneOf") {
		return nil
	}
	r := &objectRule{extra: &node{kinds: kindAny}}
	n.object = r
	var err error
	if r.min, r.max, err = limits(doc, at, "minProperties", "maxProperties"); err != nil {
		return err
	}
	if err := b.properties(r, doc, at); err != nil {
		return err
	}
	if value, ok := doc["required"]; ok {
		if r.required, ok = r.set(value); !ok {
			return at.unsupported("required")
		}
	}
	if value, ok := doc["additionalProperties"]; ok {
		if r.extra, err = b.schema(value, at.at("additionalProperties")); err != nil {
			return err
		}
		if r.extra.kinds == 0 {
			r.extra = nil
		}
	}
	if err := r.choose(n, doc, at); err != nil {
		return err
	}
	r.order()
	return nil
}

// properties applies properties.
func (b *builder) properties(r *objectRule, doc map[string]any, at place) error {
	props, err := members(doc, at, "properties")
	if err != nil {
		return err
	}
	names := make([]string, 0, len(props))
	for name := range props {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) > 64 {
		return at.unsupported("properties")
	}
	for _, name := range names {
		child, err := b.schema(props[name], at.at("properties").at(name))
		if err != nil {
			return err
		}
		r.props = append(r.props, prop{name: name, node: child})
	}
	return nil
}

// set returns the bits of a list of different names, all of them in props.
func (r *objectRule) set(value any) (set uint64, ok bool) {
	list, ok := value.([]any)
	if !ok {
		return 0, false
	}
	for _, entry := range list {
		name, ok := entry.(string)
		k := slices.IndexFunc(r.props, func(p prop) bool { return p.name == name })
		if !ok || k < 0 || set&(1<<k) != 0 {
			return 0, false
		}
		set |= 1 << k
	}
	return set, true
}

// names returns the names of a set.
func (r *objectRule) names(set uint64) []string {
	var names []string
	for ; set != 0; set &= set - 1 {
		names = append(names, r.props[bits.TrailingZeros64(set)].name)
	}
	return names
}

// choose applies anyOf and oneOf if each alternative only names members that
// must be there.
func (r *objectRule) choose(n *node, doc map[string]any, at place) error {
	if has(doc, "anyOf") && has(doc, "oneOf") {
		return at.unsupported("oneOf")
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		value, ok := doc[keyword]
		if !ok {
			continue
		}
		list, ok := value.([]any)
		if !ok || len(list) == 0 || !onlyRequired(list) {
			return at.unsupported(keyword)
		}
		if keyword == "oneOf" && len(list) > 1 && n.kinds&^kindObject != 0 {
			// A value that is no object satisfies every alternative.
			return at.unsupported(keyword)
		}
		r.choice = keyword
		var demands []string
		for _, entry := range list {
			alternative, _ := entry.(map[string]any)
			set, ok := r.set(alternative["required"])
			if !ok {
				return at.unsupported(keyword)
			}
			r.choices = append(r.choices, set)
			demands = append(demands, strings.Join(r.names(set), " with "))
		}
		r.demand = "must have " + map[string]string{"oneOf": "exactly one of "}[keyword] + strings.Join(demands, " or ")
	}
	return nil
}

// onlyRequired reports whether every schema of the list consists of required.
func onlyRequired(list []any) bool {
	for _, entry := range list {
		schema, _ := entry.(map[string]any)
		if _, ok := schema["required"]; !ok || len(schema) != 1 {
			return false
		}
	}
	return true
}

// order prepares the search for props.
func (r *objectRule) order() {
	if len(r.props) < manyProps {
		return
	}
	r.index = make(map[string]int, len(r.props))
	for k, p := range r.props {
		r.index[p.name] = k
	}
}

// arrayRule applies the keywords for arrays.
func (b *builder) arrayRule(n *node, doc map[string]any, at place) error {
	if !has(doc, "items", "minItems", "maxItems") {
		return nil
	}
	r := &arrayRule{items: &node{kinds: kindAny}}
	n.array = r
	var err error
	if r.min, r.max, err = limits(doc, at, "minItems", "maxItems"); err != nil {
		return err
	}
	if value, ok := doc["items"]; ok {
		if r.items, err = b.schema(value, at.at("items")); err != nil {
			return err
		}
	}
	return nil
}
