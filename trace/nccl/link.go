package nccl

import (
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/trace/enum"
)

// Link is a link between devices, or the class of a path, which is that of its worst link
// (NCCL's graph/topo.h). PCI and XGMI are links only.
type Link uint8

const (
	UnknownLink Link = iota
	LOC              // the device itself
	NVL              // NVLink
	NVB              // NVLink, by way of another GPU
	C2C              // chip to chip
	PIX              // one PCI switch
	PXB              // several PCI switches
	P2C
	PXN // NVLink to the GPU that the network card belongs to
	PHB // the host's PCI bridge
	SYS // between the processors of a machine
	NET // the network
	DIS // none
	PCI
	XGMI // RCCL's word for NVL
	numLinks
)

var linkNames = [numLinks]string{"?", "LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS", "PCI", "XGMI"}

func (l Link) String() string { return enum.Name(linkNames[:], l) }

// Names returns the names of all values.
func (Link) Names() []string { return linkNames[:] }

// ParseLink reads the name as topology lines write it, UnknownLink for any other.
func ParseLink[T ~string | ~[]byte](name T) Link {
	return valueOf[Link](linkNames[:], name)
}

// DeviceKind is what a device of a machine is, in NCCL's topology.
type DeviceKind uint8

const (
	UnknownDevice DeviceKind = iota
	GPU
	CPU
	PCISwitch
	NVSwitch
	NIC
	NetworkPort
	numDevices
)

var deviceNames = [numDevices]string{"?", "GPU", "CPU", "PCI", "NVS", "NIC", "NET"}

func (k DeviceKind) String() string { return enum.Name(deviceNames[:], k) }

// Names returns the names of all values.
func (DeviceKind) Names() []string { return deviceNames[:] }

// ParseDevice reads the name as topology lines write it, UnknownDevice for any other.
func ParseDevice[T ~string | ~[]byte](name T) DeviceKind {
	return valueOf[DeviceKind](deviceNames[:], name)
}

// ParseBus reads the address of a device, "00000000:3B:00.0" or "0000:3b:00", as NCCL
// writes it: domain<<20 | bus<<12 | device<<4 | function; 0: it is none.
func ParseBus(text string) uint64 {
	var parts [4]uint64
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ':' || r == '.' })
	if len(fields) < 3 || len(fields) > len(parts) {
		return 0
	}
	for i, field := range fields {
		var err error
		if parts[i], err = strconv.ParseUint(field, 16, 32); err != nil {
			return 0
		}
	}
	if parts[1] > 0xff || parts[2] > 0x1f || parts[3] > 7 {
		return 0
	}
	return parts[0]<<20 | parts[1]<<12 | parts[2]<<4 | parts[3]
}
