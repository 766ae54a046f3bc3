package nccl

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

func (l Link) String() string { return nameOf(linkNames[:], l) }

// ParseLink reads the name as topology lines write it, UnknownLink for any other.
func ParseLink[T ~string | ~[]byte](name T) Link {
	return named[Link](linkNames[:], name)
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

func (k DeviceKind) String() string { return nameOf(deviceNames[:], k) }

// ParseDevice reads the name as topology lines write it, UnknownDevice for any other.
func ParseDevice[T ~string | ~[]byte](name T) DeviceKind {
	return named[DeviceKind](deviceNames[:], name)
}
