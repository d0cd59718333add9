package spawn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// NewImage returns an empty program that is to become a program file, for a
// place where nothing but a program file can be started. strings is the space
// for texts, with their ending NUL bytes and eight bytes more for each.
func NewImage(strings int) (*Program, error) {
	m, err := newMemory(imageSpace + strings)
	if err != nil {
		return nil, err
	}
	return &Program{memory: m, tag: imageTag}, nil
}

// imageSpace is the space for everything but texts.
const imageSpace = 256 << 10

// imageTag is the first byte of a failure message of an image. A child and the
// image it executes may share a socket.
const imageTag = 'F'

// instruction is a step as the code of an image reads it.
type instruction struct {
	op     uintptr
	nr     uintptr
	args   [6]Arg
	out    unsafe.Pointer // where the result goes, or nil
	accept uintptr
	skip   uintptr // bytes to the next instruction, after an error or for a child; 0 is none
	index  uintptr // of the step, for the failure message
}

// Operations of an instruction.
const (
	opCall    = iota
	opStore   // store 32 bits of the first argument
	opEach    // call for every value of the second argument, up to an error
	opProceed // call again if interrupted; 0 is EPIPE
	opFork    // call; the child goes on after skip bytes
	opGuard   // wait until the process of the first argument ends, and exit as it did
)

// imageArgs lies at the start of an image's data.
type imageArgs struct {
	first, end unsafe.Pointer // instructions
	report     uintptr        // descriptor for the failure message
	msg        failure
}

// What the assembly needs to know under a name.
//
//nolint:unused // the assembly uses them
const (
	imageArgsAt = imageBase + imageData // address of imageArgs
	imageEINTR  = uintptr(syscall.EINTR)
	imageEPIPE  = uintptr(syscall.EPIPE)
	imageStatus = exitWrapper
)

// imageEnd, twice, follows the code, so that its length can be found.
const imageEnd = 0x646e6520

// Child returns an empty program for a process that the image p forks.
func (p *Program) Child() *Program { return &Program{memory: p.memory, tag: p.tag} }

// NewImageFile returns an empty anonymous file for an image, and a second
// descriptor with which the image can be executed when it is complete: a file
// that is open for writing cannot be. Both are closed on exec.
func NewImageFile(name string) (file, executable int, err error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	file, err = unix.MemfdCreate(name, flags|unix.MFD_EXEC)
	if errors.Is(err, syscall.EINVAL) { // before Linux 6.3 all could be executed
		file, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return -1, -1, err
	}
	executable, err = unix.Open("/proc/self/fd/"+strconv.Itoa(file), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		_ = unix.Close(file)
		return -1, -1, err
	}
	return file, executable, nil
}

// Complete writes a program file that runs p into file, seals and closes it. p
// must come from [NewImage] and is of no further use but for [Program.Failure].
// The file is a static program of two segments without a runtime: its code
// walks the same table that a prepared child walks. report is the descriptor,
// in the process that will execute the file, for the message of a failing step.
func (p *Program) Complete(file, report int) error {
	defer func() { _ = unix.Close(file) }()
	m := p.memory
	if m == nil || !m.image {
		return errors.New("the program was not made as an image")
	}
	defer m.release()
	args := (*imageArgs)(unsafe.Pointer(&m.bytes[imageData]))
	if err := p.table(args); err != nil {
		return err
	}
	args.report = uintptr(report)
	args.msg[0] = imageTag
	code, err := imageText()
	if err != nil {
		return err
	}
	if m.full {
		return errors.New("the image does not fit")
	}
	head := append(elfHeader(len(code), m.used-imageData), code...)
	if err := errors.Join(writeAt(file, head, 0), writeAt(file, m.bytes[imageData:m.used], imageData)); err != nil {
		return err
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	_, err = unix.FcntlInt(uintptr(file), unix.F_ADD_SEALS, seals)
	return err
}

// table places the instructions of p.
func (p *Program) table(args *imageArgs) error {
	list, err := p.instructions(0)
	if err != nil {
		return err
	}
	args.first = unsafe.Pointer(PlaceSlice(p, list))
	args.end = unsafe.Add(args.first, uintptr(len(list))*unsafe.Sizeof(instruction{}))
	return nil
}

// instructions translates the steps, of which the first has the number base,
// and behind them those of the process that p forks.
func (p *Program) instructions(base int) ([]instruction, error) {
	list := make([]instruction, len(p.steps))
	var child *Program
	for i := range p.steps {
		s, in := &p.steps[i], &list[i]
		*in = instruction{nr: s.nr, args: s.args, out: unsafe.Pointer(s.out), accept: uintptr(s.accept), index: uintptr(base + i)}
		in.skip = uintptr(s.skip) * unsafe.Sizeof(*in)
		if s.kind == kindFork {
			child = s.child
			in.skip = uintptr(len(p.steps)-i) * unsafe.Sizeof(*in)
		}
		if err := in.translate(p, s); err != nil {
			return nil, err
		}
		if !p.inImage(in) {
			return nil, errors.New("step " + strconv.Quote(s.name) + " leaves the image")
		}
	}
	if child == nil {
		return list, nil
	}
	if child.memory != p.memory { // but for a child without data, which never has any
		return nil, errors.New("the program of the child lies elsewhere")
	}
	more, err := child.instructions(base + len(p.steps))
	return slices.Concat(list, more), err
}

// translate sets what depends on the kind of a step.
func (in *instruction) translate(p *Program, s *step) error {
	switch s.kind {
	case kindCall:
	case kindStore:
		in.op, in.out = opStore, unsafe.Pointer(s.store)
	case kindEach:
		in.op = opEach
	case kindProceed:
		in.op = opProceed
	case kindDefaults: // a program that was just executed has no handlers
		in.nr = syscall.SYS_GETPID
	case kindFork: // the code uses no stack, so the child needs none of its own
		in.op, in.nr = opFork, syscall.SYS_CLONE
		in.args = [6]Arg{Val(syscall.CLONE_VM | uintptr(syscall.SIGCHLD))}
	case kindGuard:
		if s.args[2].value != 0 {
			return errors.New("an image does not kill")
		}
		in.op, in.out, in.args = opGuard, unsafe.Pointer(Place(p, Slot(0))), [6]Arg{s.args[0]}
	case kindEqual:
		return errors.New("an image cannot " + s.name)
	}
	return nil
}

// inImage reports whether every address that the code itself follows lies in
// the image.
func (p *Program) inImage(in *instruction) bool {
	for _, a := range in.args {
		if a.slot != nil && !p.memory.holds(unsafe.Pointer(a.slot)) {
			return false
		}
	}
	return in.out == nil || p.memory.holds(in.out)
}

// maxText is more than the code is long.
const maxText = 2 << 10

// imageText returns a copy of the code. It is part of this program's text,
// written so that it runs at any address.
func imageText() ([]byte, error) {
	at := imageCodeAt()
	if at == 0 {
		return nil, syscall.ENOSYS
	}
	start := *(*unsafe.Pointer)(unsafe.Pointer(&at))
	text := unsafe.Slice((*byte)(start), maxText)
	var mark [8]byte
	binary.LittleEndian.PutUint32(mark[:], imageEnd)
	binary.LittleEndian.PutUint32(mark[4:], imageEnd)
	n := bytes.Index(text, mark[:])
	if n < 0 {
		return nil, errors.New("the code of images has no end")
	}
	return bytes.Clone(text[:n]), nil
}

// Sizes and values of ELF (elf(5)), the same for all 64-bit systems.
const (
	elfSize    = 64 // of the header
	elfSegment = 56 // of an entry for a segment
	elfHead    = elfSize + 3*elfSegment
	elfLoad    = 1
	elfStack   = 0x6474e551
	elfRead    = 4
	elfWrite   = 2
	elfExecute = 1
)

// elfHeader describes an image: code after the header, data at imageData, and
// a stack that holds no code.
func elfHeader(code, data int) []byte {
	le := binary.LittleEndian
	b := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...)
	b = le.AppendUint16(b, 2) // an executable at fixed addresses
	b = le.AppendUint16(b, elfMachine)
	b = le.AppendUint32(b, 1)
	b = le.AppendUint64(b, imageBase+elfHead) // entry
	b = le.AppendUint64(b, elfSize)           // segments follow the header
	b = le.AppendUint64(b, 0)
	b = le.AppendUint32(b, 0)
	for _, v := range []uint16{elfSize, elfSegment, 3, 0, 0, 0} {
		b = le.AppendUint16(b, v)
	}
	segment := func(kind, flags uint32, at uint64, size int) {
		b = le.AppendUint32(b, kind)
		b = le.AppendUint32(b, flags)
		address := at + imageBase
		if size == 0 {
			address = 0
		}
		for _, v := range []uint64{at, address, address, uint64(size), uint64(size), imageData} {
			b = le.AppendUint64(b, v)
		}
	}
	segment(elfLoad, elfRead|elfExecute, 0, elfHead+code)
	segment(elfLoad, elfRead|elfWrite, imageData, data)
	segment(elfStack, elfRead|elfWrite, 0, 0)
	return b
}

func writeAt(fd int, b []byte, offset int64) error {
	for len(b) > 0 {
		n, err := unix.Pwrite(fd, b, offset)
		if err != nil {
			return err
		}
		b, offset = b[n:], offset+int64(n)
	}
	return nil
}
