/* SPDX-License-Identifier: Apache-2.0 */
/* disk WAY: a file system that is full, on the host and here. It is a small one in memory, mounted
 * where only this process and its children see it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "transport/scene.h"

#define SMALL ((size_t)1 << 20)

static const char *way;

static void mount_small(const char *folder) {
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(mount("none", folder, "tmpfs", 0, "size=1m"), 0);
}

static void expect_full(const struct err *why) {
    if (why->kind != ERR_ENVIRONMENT || !strstr(why->text, "room"))
        fail_msg("kind %d: %s", (int)why->kind, why->text);
}

static void a_full_disk_is_told_and_nothing_is_left_on_it(void **state) {
    (void)state;
    struct scene scene;
    struct err why, err;
    scene_begin(&scene, way, NULL);
    char *there = scene_home_path(&scene, "small"), *here = lab_path(scene.lab, "small");
    char *local = lab_path(scene.lab, "small/got"), *big = scene_home_path(&scene, "big");
    char *data = mem_alloc(3, SMALL);
    mount_small(there);
    mount_small(here);
    if (!scene_connect(&scene, NULL))
        fail_msg("no connection: %s", scene.why.text);
    scene_copy(&scene,
               &(struct transport_copy_spec){
                   .kind = TRANSPORT_PUT, .remote = "small/file", .data = data, .size = 3 * SMALL},
               &why);
    expect_full(&why);
    assert_int_equal(count_names(there, ""), 0);
    assert_true(file_write(big, data, 3 * SMALL, &err));
    scene_copy(
        &scene,
        &(struct transport_copy_spec){.kind = TRANSPORT_GET, .remote = "big", .local = local},
        &why);
    expect_full(&why);
    assert_int_equal(count_names(here, ""), 0);
    scene_copy(&scene,
               &(struct transport_copy_spec){
                   .kind = TRANSPORT_PUT, .remote = "small/fits", .data = data, .size = SMALL / 2},
               &why);
    assert_string_equal(why.text, "");
    assert_int_equal(umount2(there, MNT_DETACH), 0);
    assert_int_equal(umount2(here, MNT_DETACH), 0);
    free(there);
    free(here);
    free(local);
    free(big);
    free(data);
    scene_end(&scene);
}

static const char *what_is_missing(void) {
    if (lab_missing())
        return lab_missing();
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return "no mounts of one's own without the capability (CAP_SYS_ADMIN)";
    return NULL;
}

int main(int argc, char **argv) {
    const char *missing = what_is_missing();
    if (missing) {
        fprintf(stderr, "skipped: %s\n", missing);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_is_told_and_nothing_is_left_on_it),
    };
    way = argc > 1 ? argv[1] : "local";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
