package kernel

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"skyring/testbed/interop"
)

// Packages are the Debian packages of the programs that Build and Start call. The kernel is not among them: Build downloads
// its package and takes it apart, but does not install it.
func Packages() []string {
	return []string{
		"qemu-system-x86", "seabios", "busybox-static", "kmod", // of the machine
		"gcc", "libc6-dev", "iproute2",
	}
}

// metaPackage depends on the kernel for virtual machines that is current.
const metaPackage = "linux-image-cloud-amd64"

//go:embed init
var firstProcess []byte

// Image is what a machine boots.
type Image struct {
	// static after Build
	kernel, base string // files: the kernel, and the first part of its first file system
	release      string
}

// Release is the version of the kernel, such as 6.1.0-57-cloud-amd64.
func (i *Image) Release() string { return i.release }

// Build downloads the current kernel of this Debian and makes an image of it and the peer in a directory, where both stay.
// It takes some 10 s and 150 MB.
func Build(ctx context.Context, dir string) (*Image, error) {
	for _, program := range []string{"qemu-system-x86_64", "busybox", "modprobe", "depmod", "apt-get", "dpkg-deb", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("build a machine with Debian's kernel: no %s; apt-get install %s", program,
				strings.Join(Packages(), " "))
		}
	}
	tree := filepath.Join(dir, "package")
	if err := download(ctx, dir, tree); err != nil {
		return nil, err
	}
	modules, err := filepath.Glob(filepath.Join(tree, "lib/modules/*"))
	if err != nil || len(modules) != 1 {
		return nil, fmt.Errorf("want one version in %s/lib/modules, there are %q: %w", tree, modules, err)
	}
	i := &Image{release: filepath.Base(modules[0]), base: filepath.Join(dir, "base.cpio")}
	i.kernel = filepath.Join(tree, "boot", "vmlinuz-"+i.release)
	program, err := interop.BuildKernel(ctx, dir)
	if err != nil {
		return nil, err
	}
	return i, i.pack(ctx, tree, program)
}

// download gets the package of the kernel into a directory, and unpacks it to another.
func download(ctx context.Context, dir, tree string) error {
	depends, err := output(ctx, dir, "apt-cache", "depends", "--important", metaPackage)
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(depends, "\n") {
		kind, name, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if kind != "Depends" || !strings.HasPrefix(name, "linux-image-") {
			continue
		}
		if _, err := output(ctx, dir, "apt-get", "download", "-q", name); err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(dir, name+"_*.deb"))
		if err != nil || len(files) != 1 {
			return fmt.Errorf("want one package of %s in %s, there are %q: %w", name, dir, files, err)
		}
		_, err = output(ctx, dir, "dpkg-deb", "-x", files[0], tree)
		return errors.Join(err, os.Remove(files[0]))
	}
	return fmt.Errorf("no kernel in what %s depends on (apt-get update?): %q", metaPackage, depends)
}

// pack writes the first part of the machine's file system: what is the same for all machines.
func (i *Image) pack(ctx context.Context, tree, program string) error {
	modules, err := i.modules(ctx, tree)
	if err != nil {
		return err
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return err
	}
	var a archive
	for _, folder := range []string{"bin", "dev", "proc", "sys", "modules"} {
		a.add(folder, modeFolder, nil)
	}
	a.add("init", modeFile, firstProcess)
	a.add("bin/sh", modeLink, []byte("busybox"))
	files := map[string]string{"bin/busybox": busybox, "bin/peer": program}
	var order []string
	for _, module := range modules {
		order = append(order, filepath.Base(module))
		files["modules/"+filepath.Base(module)] = module
	}
	a.add("modules/order", modeFile, []byte(strings.Join(order, "\n")+"\n"))
	for name, from := range files {
		content, err := os.ReadFile(from) //nolint:gosec // of the package just downloaded
		if err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
		a.add(name, modeFile, content)
	}
	return os.WriteFile(i.base, a.end(), 0o600)
}

// modules are the files of the kernel's modules that the peer needs, each behind those that it needs itself.
func (i *Image) modules(ctx context.Context, tree string) ([]string, error) {
	if _, err := output(ctx, tree, "depmod", "-b", tree, i.release); err != nil {
		return nil, err
	}
	var list []string
	listed := map[string]bool{}
	for _, name := range []string{"virtio_pci", "virtio_net", "virtio_console", "crc32c_generic", "sctp"} {
		steps, err := output(ctx, tree, "modprobe", "-d", tree, "-S", i.release, "--show-depends", name)
		if err != nil {
			return nil, err
		}
		for step := range strings.SplitSeq(steps, "\n") {
			words := strings.Fields(step)
			// the one for Intel's instruction is no use on an emulated processor, and refuses to load there
			if len(words) < 2 || words[0] != "insmod" || listed[words[1]] || strings.Contains(words[1], "crc32c-intel") {
				continue
			}
			listed[words[1]] = true
			list = append(list, words[1])
		}
	}
	return list, nil
}

// output runs a program in a directory and gives what it prints.
func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, program, args...) //nolint:gosec // fixed programs
	command.Dir = dir
	out, err := command.Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return string(out), nil
}
