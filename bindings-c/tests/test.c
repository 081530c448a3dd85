/* Tests of what only C can show: threads, ownership, and what is left. Prints `N passed, M failed`. */

#include <mcp_resident.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int passed, failed, test_failed;
static char config[4096];

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            printf("FAILED %s:%d: %s\n", __func__, __LINE__, #condition);      \
            test_failed = 1;                                                   \
        }                                                                      \
    } while (0)

static void run(const char *name, void (*test)(void))
{
    test_failed = 0;
    test();
    if (test_failed) {
        printf("FAILED %s\n", name);
        failed++;
    } else {
        passed++;
    }
}

static mcpr_source load(const char *options)
{
    mcpr_error *error = NULL;
    mcpr_source source = mcpr_load(config, options, &error);
    if (source == 0) {
        printf("FAILED to load: %s\n", mcpr_error_message(error));
        exit(1);
    }
    return source;
}

static void close_source(mcpr_source source)
{
    mcpr_error *error = NULL;
    CHECK(mcpr_source_do(source, MCPR_ACTION_CLOSE, NULL, &error));
    CHECK(error == NULL);
    mcpr_source_free(source);
}

/* Takes deliveries until the operation is completed. The caller frees it. */
static mcpr_delivery *completion(mcpr_queue queue, uint64_t operation)
{
    for (;;) {
        mcpr_delivery *delivery = mcpr_queue_next(queue, 30000);
        if (delivery == NULL) {
            printf("FAILED: nothing came\n");
            exit(1);
        }
        mcpr_kind kind = mcpr_delivery_kind(delivery);
        int completed = (kind >= MCPR_KIND_LOADED && kind <= MCPR_KIND_FAILED) || kind == MCPR_KIND_OPENED || kind == MCPR_KIND_EXCHANGED;
        if (completed && mcpr_delivery_id(delivery) == operation)
            return delivery;
        mcpr_delivery_free(delivery);
    }
}

/* Whether a text holds a part; frees the text. */
static int holds(mcpr_text text, const char *part)
{
    int found = text.data != NULL && strstr(text.data, part) != NULL;
    if (!found)
        printf("no %s in %s\n", part, text.data == NULL ? "(none)" : text.data);
    mcpr_text_free(text);
    return found;
}

static mcpr_tool echo;

static void *twenty_five_calls(void *thread)
{
    long wrong = 0;
    for (int call = 0; call < 25; call++) {
        char arguments[64], wanted[32];
        snprintf(wanted, sizeof wanted, "%ld/%d", (long)(size_t)thread, call);
        int length = snprintf(arguments, sizeof arguments, "{\"text\":\"%s\"}", wanted);
        mcpr_result *result = mcpr_tool_call(echo, arguments, (size_t)length, 0, NULL);
        mcpr_text output = mcpr_result_output(result);
        wrong += output.data == NULL || strcmp(output.data, wanted) != 0;
        mcpr_text_free(output);
        mcpr_result_free(result);
    }
    return (void *)wrong;
}

static void two_hundred_calls_from_eight_threads(void)
{
    mcpr_source source = load(NULL);
    echo = mcpr_source_tool(source, "s_echo");
    pthread_t threads[8];
    for (size_t thread = 0; thread < 8; thread++)
        pthread_create(&threads[thread], NULL, twenty_five_calls, (void *)thread);
    for (size_t thread = 0; thread < 8; thread++) {
        void *wrong;
        pthread_join(threads[thread], &wrong);
        CHECK(wrong == NULL);
    }
    close_source(source);
}

static void fifty_calls_in_flight_when_the_server_is_killed(void)
{
    mcpr_source source = load("{\"resident\": true}");
    mcpr_queue queue = mcpr_queue_new();
    mcpr_tool sleeping = mcpr_source_tool(source, "s_sleep");
    const char *arguments = "{\"ms\":60000}", *text = "{\"text\":\"x\"}";
    uint64_t operations[50];
    for (int call = 0; call < 50; call++)
        operations[call] = mcpr_tool_call_start(queue, sleeping, arguments, strlen(arguments), 0, false, NULL);
    /* Answered behind the others, so all of them have been sent. */
    mcpr_tool echoing = mcpr_source_tool(source, "s_echo");
    mcpr_result_free(mcpr_tool_call(echoing, text, strlen(text), 0, NULL));
    mcpr_text info = mcpr_source_info(source, "s", NULL);
    kill((pid_t)atol(strstr(info.data, "\"processId\":") + strlen("\"processId\":")), SIGKILL);
    mcpr_text_free(info);
    int dropped = 0;
    for (int call = 0; call < 50; call++) {
        mcpr_delivery *delivery = mcpr_queue_next(queue, 30000);
        CHECK(mcpr_delivery_kind(delivery) == MCPR_KIND_CALLED);
        CHECK(mcpr_delivery_id(delivery) >= operations[0] && mcpr_delivery_id(delivery) <= operations[49]);
        mcpr_result *result = mcpr_delivery_result(delivery);
        CHECK(mcpr_result_is_error(result));
        dropped += holds(mcpr_result_metadata(result), "\"kind\":\"dropped\"");
        mcpr_result_free(result);
        mcpr_delivery_free(delivery);
    }
    CHECK(dropped == 50);
    mcpr_result *result = mcpr_tool_call(echoing, text, strlen(text), 0, NULL);
    CHECK(holds(mcpr_result_output(result), "x"));
    mcpr_result_free(result);
    mcpr_queue_free(queue);
    close_source(source);
}

static void a_call_is_cancelled_and_completes_once(void)
{
    mcpr_source source = load(NULL);
    mcpr_queue queue = mcpr_queue_new();
    const char *arguments = "{\"ms\":60000}";
    mcpr_tool sleeping = mcpr_source_tool(source, "s_sleep");
    uint64_t operation = mcpr_tool_call_start(queue, sleeping, arguments, strlen(arguments), 0, false, NULL);
    CHECK(mcpr_queue_running(queue) == 1);
    CHECK(mcpr_queue_cancel(queue, operation));
    mcpr_delivery *delivery = completion(queue, operation);
    mcpr_result *result = mcpr_delivery_result(delivery);
    CHECK(holds(mcpr_result_metadata(result), "\"kind\":\"cancelled\""));
    CHECK(mcpr_delivery_result(delivery) == NULL);
    mcpr_result_free(result);
    mcpr_delivery_free(delivery);
    CHECK(!mcpr_queue_cancel(queue, operation));
    CHECK(mcpr_queue_next(queue, 0) == NULL);
    mcpr_queue_free(queue);
    close_source(source);
}

static void questions_are_answered_by_number(void)
{
    mcpr_queue queue = mcpr_queue_new();
    uint64_t loading = mcpr_load_start(queue, config, NULL, true, NULL);
    mcpr_delivery *loaded = completion(queue, loading);
    mcpr_source source = mcpr_delivery_source(loaded);
    mcpr_delivery_free(loaded);
    const char *arguments = "{\"message\":\"who?\"}";
    mcpr_tool asking = mcpr_source_tool(source, "s_elicit");
    uint64_t call = mcpr_tool_call_start(queue, asking, arguments, strlen(arguments), 0, false, NULL);
    mcpr_delivery *question = mcpr_queue_next(queue, 30000);
    CHECK(mcpr_delivery_kind(question) == MCPR_KIND_QUESTION);
    CHECK(mcpr_delivery_load(question) == loading);
    CHECK(holds(mcpr_delivery_json(question), "\"prompt\":\"who?\""));
    CHECK(mcpr_queue_answer(queue, mcpr_delivery_id(question), "1", "{\"ok\":true,\"data\":{\"name\":\"Ada\"}}"));
    CHECK(!mcpr_queue_answer(queue, mcpr_delivery_id(question), "1", "{}"));
    mcpr_delivery_free(question);
    mcpr_delivery *called = completion(queue, call);
    mcpr_result *result = mcpr_delivery_result(called);
    CHECK(holds(mcpr_result_output(result), "Ada"));
    CHECK(holds(mcpr_result_raw(result), "\"content\""));
    mcpr_result_free(result);
    mcpr_delivery_free(called);
    close_source(source);
    mcpr_queue_free(queue);
}

static void what_is_wrong_is_an_error_and_no_crash(void)
{
    mcpr_error *error = NULL;
    CHECK(mcpr_load(NULL, NULL, &error) == 0);
    CHECK(mcpr_error_number(error) == MCPR_CODE_CONFIG);
    CHECK(strcmp(mcpr_error_code(error), "config") == 0);
    CHECK(mcpr_error_server(error) == NULL);
    mcpr_error_free(error);
    CHECK(mcpr_load("/nowhere/mcp.json", "{}", NULL) == 0);
    CHECK(mcpr_load("{}", "{\"waits\": 1}", &error) == 0);
    CHECK(strstr(mcpr_error_message(error), "`waits` is not known") != NULL);
    mcpr_error_free(error);
    CHECK(mcpr_load("\xff", NULL, NULL) == 0);
    CHECK(mcpr_tool_call(12345, NULL, 0, 0, &error) == NULL);
    CHECK(strstr(mcpr_error_message(error), "there is no tool 12345") != NULL);
    mcpr_error_free(error);
    CHECK(!mcpr_source_do(0, 99, NULL, &error));
    CHECK(strstr(mcpr_error_message(error), "99 is not one of mcpr_action") != NULL);
    mcpr_error_free(error);
    CHECK(mcpr_tool_text(0, MCPR_FACT_NAME).data == NULL);
    CHECK(mcpr_queue_next(0, 0) == NULL);
    mcpr_error_free(NULL);
    mcpr_result_free(NULL);
    mcpr_delivery_free(NULL);
    mcpr_source_free(0);
    mcpr_queue_free(0);
    mcpr_text_free((mcpr_text){ NULL, 0 });

    mcpr_source source = load(NULL);
    CHECK(!mcpr_source_do(source, MCPR_ACTION_RESTART, "nobody", &error));
    CHECK(mcpr_error_number(error) == MCPR_CODE_UNKNOWN_SERVER);
    mcpr_error_free(error);
    mcpr_tool tool = mcpr_source_tool(source, "s_echo");
    mcpr_result *result = mcpr_tool_call(tool, "[]", 2, 0, NULL);
    CHECK(holds(mcpr_result_metadata(result), "\"kind\":\"arguments\""));
    mcpr_result_free(result);
    CHECK(mcpr_source_tool(source, "nobody") == 0);
    close_source(source);
    CHECK(mcpr_tool_text(tool, MCPR_FACT_NAME).data == NULL);
}

static void every_code_has_a_number(void)
{
    mcpr_text codes = mcpr_codes();
    int count = 0;
    const char *end = strchr(codes.data, ']');
    for (const char *at = strchr(codes.data, '['); at != NULL && at < end; at = strchr(at + 1, ','))
        count++;
    CHECK(count == MCPR_CODE_INTERNAL);
    mcpr_text_free(codes);
}

/* What a session hands out belongs to the caller, and what nobody takes is freed with its delivery. */
static void a_session_and_its_exchanges_are_given_back(void)
{
    char directory[] = "/tmp/mcp-resident-XXXXXX", path[64], options[512];
    CHECK(mkdtemp(directory) != NULL);
    snprintf(path, sizeof path, "%s/mcp.json", directory);
    FILE *file = fopen(path, "w");
    fputs(config, file);
    fclose(file);
    snprintf(options, sizeof options, "{\"baseDir\": \"%s\", \"userConfig\": \"%s\", \"projectTrust\": \"nothing\"}", directory, path);
    mcpr_error *error = NULL;
    mcpr_session session = mcpr_session_open(options, &error);
    CHECK(session != 0 && error == NULL);
    mcpr_source source = mcpr_session_source(session);
    mcpr_exchange exchange = mcpr_session_exchange(session, &error);
    CHECK(exchange != 0 && mcpr_exchange_tools(exchange, NULL, 0) > 0);
    mcpr_tool tool = mcpr_exchange_tool(exchange, "mcp__s__echo");
    mcpr_exchange_free(exchange);
    mcpr_result *result = mcpr_tool_call(tool, "{\"text\": \"hi\"}", 14, 0, &error);
    CHECK(result != NULL && !mcpr_result_is_error(result));
    mcpr_result_free(result);
    mcpr_text changes = mcpr_session_reload(session, "\"all\"", &error);
    CHECK(changes.data != NULL && error == NULL);
    mcpr_text_free(changes);
    CHECK(mcpr_session_reload(session, "\"some\"", &error).data == NULL);
    CHECK(error != NULL && strcmp(mcpr_error_code(error), "config") == 0);
    mcpr_error_free(error);
    error = NULL;
    mcpr_text untrusted = mcpr_session_untrusted(session);
    CHECK(strcmp(untrusted.data, "[]") == 0);
    mcpr_text_free(untrusted);
    mcpr_queue queue = mcpr_queue_new();
    uint64_t operation = mcpr_session_exchange_start(queue, session, &error);
    mcpr_delivery *delivery = completion(queue, operation);
    CHECK(mcpr_delivery_kind(delivery) == MCPR_KIND_EXCHANGED);
    mcpr_delivery_free(delivery);
    mcpr_queue_free(queue);
    CHECK(mcpr_source_do(source, MCPR_ACTION_CLOSE, NULL, &error));
    CHECK(mcpr_session_exchange(session, &error) == 0 && strcmp(mcpr_error_code(error), "closed") == 0);
    mcpr_error_free(error);
    mcpr_session_free(session);
    CHECK(mcpr_exchange_tool(exchange, "mcp__s__echo") == 0);
    remove(path);
    remove(directory);
}

static int threads_of_the_library(void)
{
    int found = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task = readdir(tasks); task != NULL; task = readdir(tasks)) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (file != NULL) {
            if (fgets(name, sizeof name, file) != NULL)
                found += strncmp(name, "mcp-", 4) == 0;
            fclose(file);
        }
    }
    closedir(tasks);
    return found;
}

/* Nothing else runs here, so the last return of the thread is all that is waited for. */
static void nothing_is_left(void)
{
    CHECK(mcpr_open_handles() == 0);
    CHECK(mcpr_shut_down(10000));
    for (int turn = 0; threads_of_the_library() > 0 && turn < 10000; turn++)
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    CHECK(threads_of_the_library() == 0);
}

int main(void)
{
    snprintf(config, sizeof config, "{\"mcpServers\": {\"s\": {\"command\": \"%s\", \"args\": [\"fake\"]}}}",
             getenv("MCP_RESIDENT_FIXTURES"));
    run("two_hundred_calls_from_eight_threads", two_hundred_calls_from_eight_threads);
    run("fifty_calls_in_flight_when_the_server_is_killed", fifty_calls_in_flight_when_the_server_is_killed);
    run("a_call_is_cancelled_and_completes_once", a_call_is_cancelled_and_completes_once);
    run("questions_are_answered_by_number", questions_are_answered_by_number);
    run("what_is_wrong_is_an_error_and_no_crash", what_is_wrong_is_an_error_and_no_crash);
    run("every_code_has_a_number", every_code_has_a_number);
    run("a_session_and_its_exchanges_are_given_back", a_session_and_its_exchanges_are_given_back);
    run("nothing_is_left", nothing_is_left);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
