package loadtest

import (
	"runtime"
	"time"

	"github.com/prometheus/procfs"
)

// MachineInfo is where and when a run was made.
type MachineInfo struct {
	Began      time.Time `json:"began"`
	Go         string    `json:"go"`
	OS         string    `json:"os"`
	Arch       string    `json:"arch"`
	Processors int       `json:"processors"`
}

func thisMachine() MachineInfo {
	return MachineInfo{
		Began: time.Now().UTC().Truncate(time.Second), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Processors: runtime.NumCPU(),
	}
}

// machine is the processor time of the whole machine so far, in seconds summed over its cores. It is known on Linux
// only; elsewhere a starved machine shows in the sender's lag alone.
type machine struct {
	known             bool
	busy, idle, total float64 // busy: in programs, or stolen by other machines on the same iron
	self              float64 // of busy: this process
}

// procMount is where the machine tells of itself. A test puts a machine of its own there.
var procMount = procfs.DefaultMountPoint

func readMachine() machine {
	fs, err := procfs.NewFS(procMount)
	if err != nil {
		return machine{}
	}
	stat, err := fs.Stat()
	if err != nil {
		return machine{}
	}
	proc, err := fs.Self()
	if err != nil {
		return machine{}
	}
	self, err := proc.Stat()
	if err != nil {
		return machine{}
	}
	c := stat.CPUTotal
	m := machine{
		known: true, self: self.CPUTime(),
		busy: c.User + c.Nice + c.System + c.Steal, idle: c.Idle + c.Iowait,
	}
	m.total = m.busy + m.idle + c.IRQ + c.SoftIRQ
	return m
}

// since is what became of the processors between two readings.
func (m machine) since(before machine) machine {
	return machine{
		known: m.known && before.known, busy: m.busy - before.busy, idle: m.idle - before.idle,
		total: m.total - before.total, self: m.self - before.self,
	}
}

const (
	starvedIdle   = 0.05 // less of the processors than this was free …
	starvedOthers = 0.20 // … while more than this went to neither the shop nor the sender
)

// starved tells whether others took the processors that the shop and the sender needed, given the seconds that the
// shop used.
func (m machine) starved(shop float64) (others, idle float64, yes bool) {
	if !m.known || m.total <= 0 {
		return 0, 0, false
	}
	others = max(m.busy-m.self-shop, 0) / m.total
	idle = m.idle / m.total
	return others, idle, idle < starvedIdle && others > starvedOthers
}
