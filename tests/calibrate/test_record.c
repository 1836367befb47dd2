/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of a host, and files that are none of hone's. */
#include "task/workbench.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "calibrate/calibrate.h"

static void what_is_kept_comes_back_for_its_owner_alone(void **state) {
    setenv("XDG_STATE_HOME", *state, 1);
    struct calibrate_fit fit = {.constants = *device_constants_of(NKI_GEN3), .after = 0.01};
    struct calibrate_row row = {.name = "nothing", .measured_us = 12};
    const struct device_constant *semaphore = device_constant_find(STR("semaphore_ns"));
    *vec_push(&fit.all) = (struct calibrate_constant){semaphore, 36, 45, 44, 46, true};
    struct err err = {0};
    /* A name with what paths are made of stays a name. */
    const char *host = "../me@host:22";
    if (!calibrate_keep(host, "Neuron SDK 2.29", &fit, &row, 1, &err))
        fail_msg("%s", err.text);
    char *path = calibrate_path(host);
    struct stat found;
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0600);
    struct calibrate_record record;
    assert_true(calibrate_load(path, &record, &err));
    assert_string_equal(record.host, host);
    assert_string_equal(record.release, "Neuron SDK 2.29");
    assert_string_equal(record.device, "trn2");
    struct device_constants constants = fit.constants;
    assert_true(calibrate_constants(record.constants, &constants, &err));
    assert_true(constants.semaphore_ns == 45 &&
                constants.vector_fixed_ns == fit.constants.vector_fixed_ns);
    calibrate_record_free(&record);
    calibrate_fit_free(&fit);
    free(path);
}

static void damaged_files_are_refused(void **state) {
    static const char *const texts[] = {"",
                                        "{",
                                        "[]",
                                        "null",
                                        "{\"format\":\"hone-constants\"}",
                                        "{\"format\":\"hone-constants\",\"device\":\"trn9\"}",
                                        "{\"format\":\"other\",\"device\":\"trn2\"}",
                                        "{\"format\":\"hone-constants\",\"device\":\"trn2\","
                                        "\"constants\":[{\"name\":\"start_ns\",\"is\":-1}]}",
                                        "{\"format\":\"hone-constants\",\"device\":\"trn2\","
                                        "\"constants\":[{\"name\":\"start_ns\",\"is\":1e300}]}",
                                        "{\"format\":\"hone-constants\",\"device\":\"trn2\","
                                        "\"constants\":[{\"name\":\"start_ns\"}]}"};
    char *path = path_join(*state, "constants.json");
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct calibrate_record record;
        struct err err = {0};
        assert_true(file_write(path, texts[i], strlen(texts[i]), &err));
        assert_false(calibrate_load(path, &record, &err));
        assert_true(err.kind != ERR_NONE && strlen(err.text) > 10);
    }
    free(path);
}

static void names_of_a_newer_hone_are_left_out(void **state) {
    (void)state;
    struct device_constants constants = *device_constants_of(NKI_GEN2);
    struct err err = {0};
    assert_true(calibrate_constants("{\"of_tomorrow_ns\": 3}", &constants, &err));
    assert_memory_equal(&constants, device_constants_of(NKI_GEN2), sizeof constants);
    assert_false(calibrate_constants("[1]", &constants, &err));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_comes_back_for_its_owner_alone),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(names_of_a_newer_hone_are_left_out),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
