package schemas

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// typeRule applies type.
func typeRule(n *node, doc map[string]any, at place) error {
	value, ok := doc["type"]
	if !ok {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var words []string
	n.kinds, n.keyword = 0, "type"
	for _, entry := range list {
		word, _ := entry.(string)
		kind := kindOf(word)
		if kind == 0 || slices.Contains(words, word) {
			return at.unsupported("type")
		}
		words = append(words, word)
		n.kinds |= kind
	}
	if len(words) == 0 {
		return at.unsupported("type")
	}
	n.expected = "must be of type " + strings.Join(words, " or ")
	return nil
}

// kindOf returns the kinds that a word after type stands for, 0 if it is none.
func kindOf(word string) kinds {
	switch word {
	case "object":
		return kindObject
	case "array":
		return kindArray
	case "string":
		return kindString
	case "number":
		return kindNumber
	case "integer":
		return kindInteger
	case "boolean":
		return kindBool
	case "null":
		return kindNull
	}
	return 0
}

// valuesRule applies enum and const, of strings, booleans and null.
func valuesRule(n *node, doc map[string]any, at place) error {
	keyword := "enum"
	value, ok := doc[keyword]
	list, isList := value.([]any)
	if constant, has := doc["const"]; has {
		if ok {
			return at.unsupported("const")
		}
		keyword, list, ok, isList = "const", []any{constant}, true, true
	}
	if !ok {
		return nil
	}
	if !isList || len(list) == 0 {
		return at.unsupported(keyword)
	}
	var allowed kinds
	var words, texts []string
	for _, entry := range list {
		kind, word := constantOf(entry)
		if kind == 0 {
			return at.unsupported(keyword)
		}
		if kind == kindString {
			texts = append(texts, word)
			word = strconv.Quote(word)
		}
		allowed |= kind
		words = append(words, word)
	}
	n.kinds &= allowed
	n.keyword, n.expected = keyword, "must be "+strings.Join(words, " or ")
	if texts != nil {
		n.text = &textRule{max: -1, values: texts, keyword: keyword}
	}
	return nil
}

// constantOf returns the kind of a constant and its text.
func constantOf(value any) (kind kinds, word string) {
	switch v := value.(type) {
	case string:
		return kindString, v
	case bool:
		if v {
			return kindTrue, "true"
		}
		return kindFalse, "false"
	case nil:
		return kindNull, "null"
	}
	return 0, ""
}

// textRuleOf applies minLength, maxLength and pattern.
func textRuleOf(n *node, doc map[string]any, at place) error {
	if !has(doc, "minLength", "maxLength", "pattern") {
		return nil
	}
	if n.text == nil {
		n.text = &textRule{}
	}
	var err error
	if n.text.min, n.text.max, err = limits(doc, at, "minLength", "maxLength"); err != nil {
		return err
	}
	value, ok := doc["pattern"]
	if !ok {
		return nil
	}
	pattern, ok := value.(string)
	if !ok {
		return at.unsupported("pattern")
	}
	if n.text.pattern, err = regexp.Compile(pattern); err != nil {
		return at.unsupported("pattern")
	}
	return nil
}

// numberRule applies minimum, maximum and their exclusive forms.
func numberRule(n *node, doc map[string]any, at place) error {
	for _, b := range []bound{
		{keyword: "minimum"},
		{keyword: "maximum", upper: true},
		{keyword: "exclusiveMinimum", exclusive: true},
		{keyword: "exclusiveMaximum", upper: true, exclusive: true},
	} {
		value, ok := doc[b.keyword]
		if !ok {
			continue
		}
		if b.limit, ok = integer(value); !ok {
			return at.unsupported(b.keyword)
		}
		n.number = append(n.number, b)
	}
	return nil
}

// limits returns the values of two keywords that count something, 0 and -1 if
// they are absent.
func limits(doc map[string]any, at place, lower, upper string) (low, high int, err error) {
	high = -1
	for _, keyword := range []string{lower, upper} {
		value, ok := doc[keyword]
		if !ok {
			continue
		}
		v, ok := integer(value)
		if !ok || v < 0 || v > math.MaxInt32 {
			return 0, 0, at.unsupported(keyword)
		}
		if keyword == lower {
			low = int(v)
		} else {
			high = int(v)
		}
	}
	return low, high, nil
}

// integer returns the value of a number that is written as a plain integer.
func integer(value any) (int64, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseInt(number.String(), 10, 64)
	return v, err == nil
}

// has reports whether doc has one of the keywords.
func has(doc map[string]any, keywords ...string) bool {
	for _, keyword := range keywords {
		if _, ok := doc[keyword]; ok {
			return true
		}
	}
	return false
}
