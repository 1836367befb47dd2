/* SPDX-License-Identifier: Apache-2.0 */
/* Linux: walls made of namespaces, Landlock and seccomp. They use nothing but system calls, as a
 * forked process must. Numbers of calls and bits that older headers lack are written out here
 * (linux/landlock.h, linux/mount.h, the common table of asm-generic/unistd.h). */
#include "base/os/os.h"
#include "base/kit/kit.h"

#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALL_PIDFD_SEND_SIGNAL 424
#define CALL_IO_URING_SETUP 425
#define CALL_OPEN_TREE 428
#define CALL_MOVE_MOUNT 429
#define CALL_FSOPEN 430
#define CALL_FSMOUNT 432
#define CALL_CLONE3 435
#define CALL_CLOSE_RANGE 436
#define CALL_PIDFD_GETFD 438
#define CALL_MOUNT_SETATTR 442
#define CALL_LANDLOCK_CREATE 444
#define CALL_LANDLOCK_ADD 445
#define CALL_LANDLOCK_RESTRICT 446

/* ------------------------------------------------------------------------------------- seccomp */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define MAX_STEPS 256
struct os_filter {
    struct sock_fprog program;
    struct sock_filter steps[MAX_STEPS];
};

#ifdef ARCHITECTURE

/* Calls that no reference and no candidate needs, behind any wall. */
static const struct {
    int call, code;
} refused[] = {
#ifndef __SANITIZE_ADDRESS__ /* the sanitizer's search for leaks is a tracer */
    {SYS_ptrace, EPERM},
#endif
    {SYS_process_vm_readv, EPERM},
    {SYS_process_vm_writev, EPERM},
    {CALL_PIDFD_GETFD, EPERM},
    {SYS_add_key, EPERM},
    {SYS_request_key, EPERM},
    {SYS_keyctl, EPERM},
    {SYS_mount, EPERM},
    {SYS_umount2, EPERM},
    {SYS_pivot_root, EPERM},
    {SYS_chroot, EPERM},
    {CALL_OPEN_TREE, EPERM},
    {CALL_MOVE_MOUNT, EPERM},
    {CALL_FSOPEN, EPERM},
    {CALL_FSMOUNT, EPERM},
    {CALL_MOUNT_SETATTR, EPERM},
    {SYS_unshare, EPERM},
    {SYS_setns, EPERM},
    {SYS_bpf, EPERM},
    {SYS_perf_event_open, EPERM},
    {SYS_userfaultfd, EPERM},
    {SYS_kexec_load, EPERM},
    {SYS_init_module, EPERM},
    {SYS_finit_module, EPERM},
    {SYS_delete_module, EPERM},
    {SYS_open_by_handle_at, EPERM},
    {SYS_acct, EPERM},
    {SYS_swapon, EPERM},
    {SYS_quotactl, EPERM},
    {SYS_reboot, EPERM},
    /* libraries then use the older call */
    {CALL_IO_URING_SETUP, ENOSYS},
    {CALL_CLONE3, ENOSYS}};

/* Calls that are refused where there are no namespaces: no sockets but pairs, and no way out of the
 * process group, because the group is what gets ended. */
static const struct {
    int call, code;
} refused_outside[] = {{SYS_socket, EACCES}, {SYS_connect, EACCES},
                       {SYS_bind, EACCES},   {SYS_setsid, EPERM},
                       {SYS_setpgid, EPERM}, {CALL_PIDFD_SEND_SIGNAL, EPERM}};

static void step(struct os_filter *filter, struct sock_filter one) {
    if (filter->program.len == MAX_STEPS)
        HONE_BUG("a seccomp program that is too long");
    filter->steps[filter->program.len++] = one;
}

static void load(struct os_filter *filter, size_t offset) {
    step(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void refuse(struct os_filter *filter, int call, int code) {
    step(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1));
    step(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)code));
}

#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (size_t)(n))

/* Refuses new user namespaces by clone; its first word has the flags. */
static void refuse_user_namespaces(struct os_filter *filter) {
    step(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
    load(filter, ARGUMENT(0));
    step(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1));
    step(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    load(filter, offsetof(struct seccomp_data, nr));
}

/* Refuses signals to one process (or its group), and to everybody. */
static void refuse_signals(struct os_filter *filter, int call, pid_t owner) {
    const int32_t whom[] = {owner, -owner, -1};
    step(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 8));
    load(filter, ARGUMENT(0));
    for (size_t i = 0; i < COUNT_OF(whom); i++) {
        step(filter,
             (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)whom[i], 0, 1));
        step(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    }
    load(filter, offsetof(struct seccomp_data, nr));
}

/* Programs of another architecture have other numbers, so none of them may run. */
static void check_architecture(struct os_filter *filter) {
    load(filter, offsetof(struct seccomp_data, arch));
    step(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    step(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    load(filter, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    step(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1));
    step(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
#endif
}

struct os_filter *os_wall_filter(int level, pid_t owner) {
    struct os_filter *filter = level < WALL_LANDLOCK ? NULL : mem_alloc(1, sizeof *filter);
    if (!filter)
        return NULL;
    check_architecture(filter);
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        refuse(filter, refused[i].call, refused[i].code);
    refuse_user_namespaces(filter);
    for (size_t i = 0; level < WALL_NAMESPACES && i < COUNT_OF(refused_outside); i++)
        refuse(filter, refused_outside[i].call, refused_outside[i].code);
    const int calls[] = {SYS_kill, SYS_tgkill, SYS_tkill, SYS_rt_sigqueueinfo};
    for (size_t i = 0; level < WALL_NAMESPACES && i < COUNT_OF(calls); i++)
        refuse_signals(filter, calls[i], owner);
    step(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    return filter;
}

#else

struct os_filter *os_wall_filter(int level, pid_t owner) {
    (void)level;
    (void)owner;
    return NULL;
}

#endif

int os_filter_open(const struct os_filter *filter) {
    if (!filter)
        return -1;
    int fd = memfd_create("filter", MFD_CLOEXEC);
    size_t size = filter->program.len * sizeof filter->steps[0];
    if (fd >= 0 && write(fd, filter->steps, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* ---------------------------------------------------------------------------------- privileges */

/* Behind a wall of paths, root keeps what it needs to read its own users' files. */
static bool drop_privileges(const struct wall *wall) {
    bool keeps = wall->level < WALL_NAMESPACES;
    uint32_t kept = keeps ? 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH : 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
    for (int cap = 0; cap < 64; cap++)
        if (!(cap < 32 && kept >> cap & 1))
            prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct own[2] = {{0}};
    if (syscall(SYS_capget, &header, own) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        own[i].permitted &= i ? 0 : kept;
        own[i].effective &= i ? 0 : kept;
        own[i].inheritable = 0;
    }
    return syscall(SYS_capset, &header, own) == 0;
}

static bool install(const struct os_filter *filter) {
    union {
        const struct sock_filter *in;
        struct sock_filter *out;
    } steps = {filter ? filter->steps : NULL}; /* the kernel only reads them */
    struct sock_fprog program = {.len = filter ? filter->program.len : 0, .filter = steps.out};
    return !filter || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* ------------------------------------------------------------------------------------ Landlock */

#define FS_EXECUTE (1u << 0)
#define FS_WRITE_FILE (1u << 1)
#define FS_READ_FILE (1u << 2)
#define FS_READ_DIR (1u << 3)
#define FS_TRUNCATE (1u << 14)
#define FS_IOCTL (1u << 15)
#define FS_OF_FILES (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL)
#define FS_TO_READ (FS_EXECUTE | FS_READ_FILE | FS_READ_DIR)
#define NET_TCP 3u
#define SCOPE_ALL 3u

struct ruleset {
    uint64_t fs, net, scoped;
};
struct rule {
    uint64_t allowed;
    int32_t folder;
} __attribute__((packed));

static int landlock_version(void) {
    return (int)syscall(CALL_LANDLOCK_CREATE, NULL, 0, 1u);
}

/* What this version of the kernel can govern. */
static uint64_t governed(int version) {
    static const uint64_t bits[] = {0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff};
    return bits[version < 5 ? version : 5];
}

static bool allow(int rules, const char *path, uint64_t allowed) {
    struct stat found;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return true; /* it no longer exists, so there is nothing to show */
    if (fstat(fd, &found) == 0 && !S_ISDIR(found.st_mode))
        allowed &= FS_OF_FILES;
    struct rule rule = {.allowed = allowed, .folder = fd};
    bool ok = syscall(CALL_LANDLOCK_ADD, rules, 1, &rule, 0u) == 0;
    close(fd);
    return ok;
}

static bool enter_landlock(const struct wall *wall) {
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/shm"};
    static const char *const readable[] = {"/proc", "/dev/random", "/dev/urandom"};
    int version = landlock_version();
    if (version < 1)
        return false;
    uint64_t all = governed(version);
    struct ruleset set = {
        .fs = all, .net = version >= 4 ? NET_TCP : 0, .scoped = version >= 6 ? SCOPE_ALL : 0};
    size_t size = version >= 6 ? sizeof set : version >= 4 ? 16 : 8;
    int rules = (int)syscall(CALL_LANDLOCK_CREATE, &set, size, 0u);
    bool ok = rules >= 0;
    const uint64_t rights[] = {
        [WALL_READ] = FS_TO_READ, [WALL_WRITE] = all, [WALL_LIST] = FS_READ_DIR, [WALL_HIDE] = 0};
    for (size_t i = 0; ok && i < wall->places.len; i++)
        if (rights[wall->places.at[i].use])
            ok = allow(rules, wall->places.at[i].source, rights[wall->places.at[i].use] & all);
    for (size_t i = 0; ok && i < COUNT_OF(devices); i++)
        ok = allow(rules, devices[i], all);
    for (size_t i = 0; ok && i < COUNT_OF(readable); i++)
        ok = allow(rules, readable[i], FS_TO_READ & all);
    ok = ok && syscall(CALL_LANDLOCK_RESTRICT, rules, 0u) == 0;
    if (rules >= 0)
        close(rules);
    return ok;
}

/* ---------------------------------------------------------------------------------- namespaces */

#define GROUP_TASKS 128 /* threads of hone itself behind the wall */
#define NEW_ROOT "/new" /* below an empty root of their own */
#define OLD_ROOT "/old"

static bool write_text(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* Behind the wall this user is itself, and no other user is known. */
static bool map_user(uid_t uid, gid_t gid) {
    char text[64];
    snprintf(text, sizeof text, "%u %u 1\n", (unsigned)uid, (unsigned)uid);
    if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", text))
        return false;
    snprintf(text, sizeof text, "%u %u 1\n", (unsigned)gid, (unsigned)gid);
    return write_text("/proc/self/gid_map", text);
}

/* Makes the folders above a path, and the path itself as a folder or an empty file. */
static bool make_place(char *path, bool is_folder) {
    if (access(path, F_OK) == 0)
        return true;
    for (char *slash = strchr(path + strlen(NEW_ROOT) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        bool ok = mkdir(path, 0755) == 0 || errno == EEXIST;
        *slash = '/';
        if (!ok)
            return false;
    }
    if (is_folder)
        return mkdir(path, 0755) == 0;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* The flags that a mount keeps, because this user may not remove them. */
static unsigned long kept_flags(const char *path) {
    static const struct {
        unsigned long flag, mount;
    } rows[] = {{2, MS_NOSUID},        {4, MS_NODEV},      {8, MS_NOEXEC}, {1024, MS_NOATIME},
                {2048, MS_NODIRATIME}, {4096, MS_RELATIME}}; /* ST_NOSUID and so on */
    struct statvfs found;
    unsigned long flags = 0;
    if (statvfs(path, &found) != 0)
        return 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (found.f_flag & rows[i].flag)
            flags |= rows[i].mount;
    return flags;
}

static bool close_to_writing(const char *path) {
    struct {
        uint64_t set, clear, propagation, userns;
    } change = {.set = 1 /* MOUNT_ATTR_RDONLY */};
    if (syscall(CALL_MOUNT_SETATTR, AT_FDCWD, path, 0x8000 /* AT_RECURSIVE */, &change,
                sizeof change) == 0)
        return true;
    return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | kept_flags(path), NULL) == 0;
}

static bool scratch_at(const char *path, mode_t mode) {
    char options[64];
    snprintf(options, sizeof options, "mode=%o,size=%llu", (unsigned)mode,
             (unsigned long long)WALL_SCRATCH_BYTES);
    return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0;
}

static bool show(const char *source, const char *path, enum wall_use use) {
    char from[4200], to[4200], target[256];
    struct stat found;
    if (use == WALL_LIST)
        return true; /* its folders are made together with what is in it */
    snprintf(from, sizeof from, OLD_ROOT "%s", path);
    snprintf(to, sizeof to, NEW_ROOT "%s", path);
    ssize_t link = strchr(path + 1, '/') ? -1 : readlink(from, target, sizeof target - 1);
    if (link > 0) { /* /bin on most systems */
        target[link] = 0;
        return symlink(target, to) == 0;
    }
    if (lstat(to, &found) == 0 && S_ISLNK(found.st_mode))
        return true; /* it is there already, with the folder around it */
    snprintf(from, sizeof from, OLD_ROOT "%s", source);
    if (stat(from, &found) != 0)
        return true; /* it no longer exists */
    bool is_folder = S_ISDIR(found.st_mode);
    if (!make_place(to, is_folder))
        return false;
    if (use == WALL_HIDE)
        return !is_folder || scratch_at(to, 0755);
    return mount(from, to, NULL, MS_BIND | MS_REC, NULL) == 0 &&
           (use == WALL_WRITE || close_to_writing(to));
}

static bool make_devices(void) {
    static const char *const nodes[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                        "/dev/urandom"};
    static const char *const links[][2] = {{"/proc/self/fd", NEW_ROOT "/dev/fd"},
                                           {"/proc/self/fd/0", NEW_ROOT "/dev/stdin"},
                                           {"/proc/self/fd/1", NEW_ROOT "/dev/stdout"},
                                           {"/proc/self/fd/2", NEW_ROOT "/dev/stderr"}};
    if (mkdir(NEW_ROOT "/dev", 0755) != 0)
        return false;
    for (size_t i = 0; i < COUNT_OF(nodes); i++)
        if (!show(nodes[i], nodes[i], WALL_WRITE))
            return false;
    for (size_t i = 0; i < COUNT_OF(links); i++)
        if (symlink(links[i][0], links[i][1]) != 0)
            return false;
    return mkdir(NEW_ROOT "/dev/shm", 01777) == 0 && scratch_at(NEW_ROOT "/dev/shm", 01777);
}

/* Mounts an empty file system, with room for the new root and the old one. */
static bool begin_root(void) {
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") == 0 &&
           chdir("/tmp") == 0 && mkdir("new", 0755) == 0 && mkdir("old", 0755) == 0 &&
           syscall(SYS_pivot_root, ".", "old") == 0 && chdir("/") == 0 &&
           mount("tmpfs", NEW_ROOT, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=16m") == 0;
}

static bool end_root(const struct wall *wall) {
    char here[4200];
    snprintf(here, sizeof here, NEW_ROOT "%s", wall->here ? wall->here : "/");
    return make_place(here, true) &&
           mount(NULL, NEW_ROOT, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
                 NULL) == 0 &&
           chdir(NEW_ROOT) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 &&
           umount2(".", MNT_DETACH) == 0 && chdir("/") == 0 &&
           chdir(wall->here ? wall->here : "/") == 0;
}

static bool make_root(const struct wall *wall) {
    bool ok =
        begin_root() && make_devices() && mkdir(NEW_ROOT "/proc", 0555) == 0 &&
        mount("proc", NEW_ROOT "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0 &&
        mkdir(NEW_ROOT "/tmp", 01777) == 0 && scratch_at(NEW_ROOT "/tmp", 01777);
    for (size_t i = 0; ok && i < wall->places.len; i++) {
        const char *path = wall_goes_to(wall, i);
        ok = !path || show(wall->places.at[i].source, path, wall->places.at[i].use);
    }
    return ok && end_root(wall);
}

/* Waits for the child and ends as it did. After a signal the status is 128 plus its number, as in
 * shells. */
static CC_NORETURN void pass_on(pid_t child) {
    int status = 0;
    syscall(CALL_CLOSE_RANGE, 0u, ~0u, 0u);
    for (pid_t ended = 0; ended != child;) {
        ended = waitpid(-1, &status, 0);
        if (ended < 0 && errno != EINTR)
            _exit(127);
    }
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/* Forks. The parent waits and passes on how the child ended. The child continues, and dies with its
 * parent. */
static bool go_on_as_child(void) {
    pid_t child = fork();
    if (child > 0)
        pass_on(child);
    return child == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

static bool enter_namespaces(const struct wall *wall) {
    uid_t uid = geteuid();
    gid_t gid = getegid();
    prctl(PR_SET_DUMPABLE, 1); /* otherwise its files in /proc are not its own */
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                CLONE_NEWUTS) != 0 ||
        !map_user(uid, gid))
        return false;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* changing rights removes it */
    if (!go_on_as_child())
        return false;
    /* The first process behind the wall is a copy of hone that only waits. Nobody can look into
     * it. */
    bool ok = make_root(wall);
    prctl(PR_SET_DUMPABLE, 0);
    return ok && go_on_as_child() && os_limit_processes(wall_processes_most());
}

/* -------------------------------------------------------------------------------------- levels */

bool os_wall_enter(const struct wall *wall, const struct os_filter *filter) {
    if (wall->groups) /* without one, only the watch over the reference counts */
        (void)os_group_enter(wall->groups, GROUP_TASKS + wall_processes());
    if (wall->level == WALL_NAMESPACES && !enter_namespaces(wall))
        return false;
    os_adopt_orphans();
    if (!os_limit_files(wall->file_bytes) || !os_limit_processes(wall->processes))
        return false;
    if (wall->level == WALL_BUBBLEWRAP)
        return true; /* bubblewrap does the rest */
    if (!drop_privileges(wall) || (wall->level == WALL_LANDLOCK && !enter_landlock(wall)))
        return false;
    return wall->level < WALL_LANDLOCK || install(filter);
}

static bool ends_well(pid_t child) {
    int status = -1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return child > 0 && status == 0;
}

static bool namespaces_work(void) {
    struct wall *wall = wall_new();
    wall->level = WALL_NAMESPACES;
    pid_t child = fork();
    if (child == 0)
        _exit(enter_namespaces(wall) ? 0 : 1);
    wall_free(wall);
    return ends_well(child);
}

static bool bubblewrap_works(void) {
    pid_t child = fork();
    if (child == 0) {
        int empty = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int fd = 0; fd < 3; fd++)
            dup2(empty, fd);
        execlp("bwrap", "bwrap", "--unshare-all", "--die-with-parent", "--cap-drop", "ALL",
               "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--size", "4096",
               "--tmpfs", "/tmp", "true", (char *)NULL);
        _exit(127);
    }
    return ends_well(child);
}

bool os_wall_works(int level) {
    switch ((enum wall_level)level) {
    case WALL_BUBBLEWRAP: return bubblewrap_works();
    case WALL_NAMESPACES: return namespaces_work();
    case WALL_LANDLOCK: {
        struct os_filter *filter = os_wall_filter(WALL_LANDLOCK, 1);
        bool there = filter && landlock_version() >= 1;
        free(filter);
        return there;
    }
    case WALL_LIMITS:
    case WALL_NONE: return true;
    }
    return false;
}

#else
typedef int os_linux_wall_is_not_used;
#endif
