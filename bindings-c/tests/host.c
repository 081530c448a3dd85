/* The host program for C: does through the header what the driver asks, and tells what it saw. What a host does is in the
 * README of the fixtures. It reads JSON only as far as it has to: most of it is handed on as it is. */

#include <mcp_resident.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY 1024

/* What runs, by the driver's id; `done` is the id of an operation that is over. */
static struct { uint64_t operation; long id; char verb[16]; } running[MANY];
static struct { uint64_t question; char request[64]; } questions[MANY];
static size_t question_count;
static struct { char label[32]; size_t count; mcpr_tool tools[MANY]; } remembered[8];
static size_t label_count;
static mcpr_source source;
/* 0 unless what was loaded last is a session; its source is `source`. */
static mcpr_session session;
static mcpr_exchange exchange;
static mcpr_queue queue;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;

/* Where the JSON value that begins at `text` ends. */
static const char *end_of(const char *text)
{
    int depth = 0;
    for (;; text++) {
        if (*text == '"') {
            for (text++; *text != '"'; text++)
                if (*text == '\\')
                    text++;
        } else if (*text == '{' || *text == '[') {
            depth++;
            continue;
        } else if (*text == '}' || *text == ']') {
            depth--;
        } else if (*text != ',' && *text != ':' && *text != ' ') {
            while (strchr(",]} ", text[1]) == NULL)
                text++;
        } else {
            continue;
        }
        if (depth == 0)
            return text + 1;
    }
}

/* The text of a member of an object, to be freed; NULL when it has none. */
static char *member(const char *object, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = object + 1; *at == '"' || *at == ','; ) {
        if (*at == ',')
            at++;
        const char *key = at + 1;
        const char *value = end_of(at) + 1;
        const char *end = end_of(value);
        if ((size_t)(value - 2 - key) == length && strncmp(key, name, length) == 0)
            return strndup(value, (size_t)(end - value));
        at = end;
    }
    return NULL;
}

/* The text that a JSON string stands for, in its place. The driver escapes only quotes, backslashes and control characters. */
static char *unquoted(char *json)
{
    if (json == NULL || json[0] != '"')
        return json;
    char *to = json;
    for (char *from = json + 1; *from != '"'; from++) {
        if (*from != '\\') {
            *to++ = *from;
            continue;
        }
        from++;
        switch (*from) {
        case 'n': *to++ = '\n'; break;
        case 't': *to++ = '\t'; break;
        case 'r': *to++ = '\r'; break;
        case 'u': {
            unsigned code = 0;
            sscanf(from + 1, "%4x", &code);
            *to++ = (char)code;
            from += 4;
            break;
        }
        default: *to++ = *from;
        }
    }
    *to = '\0';
    return json;
}

static char *text_of(const char *object, const char *name)
{
    return unquoted(member(object, name));
}

static void put_quoted(FILE *to, const char *text, size_t length)
{
    putc('"', to);
    for (size_t place = 0; place < length; place++) {
        unsigned char byte = (unsigned char)text[place];
        if (byte == '"' || byte == '\\')
            fprintf(to, "\\%c", byte);
        else if (byte < 0x20)
            fprintf(to, "\\u%04x", byte);
        else
            putc(byte, to);
    }
    putc('"', to);
}

/* Writes one line: %Q is a text in quotes, %J JSON as it is, %N a number. */
static void tell(const char *form, ...)
{
    va_list values;
    va_start(values, form);
    pthread_mutex_lock(&output);
    for (; *form != '\0'; form++) {
        if (*form != '%') {
            putchar(*form);
            continue;
        }
        form++;
        if (*form == 'N') {
            printf("%lld", va_arg(values, long long));
        } else {
            mcpr_text text = va_arg(values, mcpr_text);
            if (text.data == NULL)
                fputs("null", stdout);
            else if (*form == 'Q')
                put_quoted(stdout, text.data, text.length);
            else
                fwrite(text.data, 1, text.length, stdout);
            mcpr_text_free(text);
        }
    }
    putchar('\n');
    fflush(stdout);
    pthread_mutex_unlock(&output);
    va_end(values);
}

static void tell_error(long id, mcpr_error *error)
{
    pthread_mutex_lock(&output);
    printf("{\"id\":%ld,\"error\":{\"kind\":", id);
    const char *parts[] = { mcpr_error_code(error), mcpr_error_message(error), mcpr_error_server(error) };
    put_quoted(stdout, parts[0], strlen(parts[0]));
    printf(",\"message\":");
    put_quoted(stdout, parts[1], strlen(parts[1]));
    if (parts[2] != NULL) {
        printf(",\"server\":");
        put_quoted(stdout, parts[2], strlen(parts[2]));
    }
    printf("}}\n");
    fflush(stdout);
    pthread_mutex_unlock(&output);
    mcpr_error_free(error);
}

static void tell_host_error(long id, const char *message)
{
    pthread_mutex_lock(&output);
    printf("{\"id\":%ld,\"error\":{\"kind\":\"host\",\"message\":\"%s\"}}\n", id, message);
    fflush(stdout);
    pthread_mutex_unlock(&output);
}

/* An inventory and a server's facts hold errors as objects; the driver wants their messages. */
static void tell_with_messages(long id, mcpr_text json)
{
    pthread_mutex_lock(&output);
    printf("{\"id\":%ld,\"ok\":", id);
    for (const char *at = json.data; *at != '\0'; ) {
        const char *error = strstr(at, "rror\":{\"kind\"");
        if (error == NULL) {
            fputs(at, stdout);
            break;
        }
        const char *value = strchr(error, '{');
        char *message = member(value, "message");
        printf("%.*s%s", (int)(value - at), at, message);
        free(message);
        at = end_of(value);
    }
    printf("}\n");
    fflush(stdout);
    pthread_mutex_unlock(&output);
    mcpr_text_free(json);
}

/* What an operation came to. */
static void complete(long id, const char *verb, mcpr_delivery *delivery)
{
    switch (mcpr_delivery_kind(delivery)) {
    case MCPR_KIND_FAILED:
        tell_error(id, mcpr_delivery_error(delivery));
        return;
    case MCPR_KIND_LOADED:
        pthread_mutex_lock(&lock);
        source = mcpr_delivery_source(delivery);
        session = exchange = 0;
        pthread_mutex_unlock(&lock);
        mcpr_source_subscribe(queue, source, MCPR_INTEREST_EVERYTHING, NULL);
        tell("{\"id\":%N,\"ok\":null}", (long long)id);
        return;
    case MCPR_KIND_OPENED:
        pthread_mutex_lock(&lock);
        session = mcpr_delivery_session(delivery);
        source = mcpr_session_source(session);
        exchange = 0;
        pthread_mutex_unlock(&lock);
        mcpr_source_subscribe(queue, source, MCPR_INTEREST_EVERYTHING, NULL);
        tell("{\"id\":%N,\"ok\":null}", (long long)id);
        return;
    case MCPR_KIND_EXCHANGED:
        pthread_mutex_lock(&lock);
        mcpr_exchange_free(exchange);
        exchange = mcpr_delivery_exchange(delivery);
        pthread_mutex_unlock(&lock);
        tell("{\"id\":%N,\"ok\":null}", (long long)id);
        return;
    case MCPR_KIND_CALLED: {
        mcpr_result *result = mcpr_delivery_result(delivery);
        tell(mcpr_result_is_error(result) ? "{\"id\":%N,\"ok\":{\"output\":%Q,\"isError\":true,\"metadata\":%J}}"
                                          : "{\"id\":%N,\"ok\":{\"output\":%Q,\"isError\":false,\"metadata\":%J}}",
             (long long)id, mcpr_result_output(result), mcpr_result_metadata(result));
        mcpr_result_free(result);
        return;
    }
    default:
        if (strcmp(verb, "inventory") == 0)
            tell_with_messages(id, mcpr_delivery_json(delivery));
        else
            tell("{\"id\":%N,\"ok\":%J}", (long long)id, mcpr_delivery_json(delivery));
    }
}

static void deliver(uint64_t user, mcpr_delivery *delivery)
{
    (void)user;
    uint64_t number = mcpr_delivery_id(delivery);
    switch (mcpr_delivery_kind(delivery)) {
    case MCPR_KIND_EVENT:
        tell("{\"event\":%J}", mcpr_delivery_json(delivery));
        return;
    case MCPR_KIND_QUESTION: {
        mcpr_text request = mcpr_delivery_json(delivery);
        char *id = text_of(request.data, "id");
        pthread_mutex_lock(&lock);
        long long place = (long long)question_count++;
        questions[place].question = number;
        snprintf(questions[place].request, sizeof questions[place].request, "%s", id);
        pthread_mutex_unlock(&lock);
        free(id);
        tell("{\"question\":%N,\"request\":%J}", place, request);
        return;
    }
    case MCPR_KIND_QUESTION_ENDED:
    case MCPR_KIND_PROGRESS:
    case MCPR_KIND_MISSED:
    case MCPR_KIND_UNKNOWN:
        return;
    default: {
        /* Whoever started it notes it under this lock. */
        pthread_mutex_lock(&lock);
        size_t place = 0;
        while (place < MANY && running[place].operation != number)
            place++;
        if (place == MANY)
            abort();
        long id = running[place].id;
        char verb[16];
        memcpy(verb, running[place].verb, sizeof verb);
        running[place].operation = 0;
        pthread_mutex_unlock(&lock);
        complete(id, verb, delivery);
    }
    }
}

static void *deliver_all(void *unused)
{
    mcpr_queue_run(queue, deliver, 0);
    return unused;
}

static mcpr_tool find(const char *name, const char *label)
{
    if (label == NULL)
        return exchange != 0 ? mcpr_exchange_tool(exchange, name) : mcpr_source_tool(source, name);
    for (size_t place = 0; place < label_count; place++) {
        if (strcmp(remembered[place].label, label) != 0)
            continue;
        for (size_t tool = 0; tool < remembered[place].count; tool++) {
            mcpr_text found = mcpr_tool_text(remembered[place].tools[tool], MCPR_FACT_NAME);
            int same = strcmp(found.data, name) == 0;
            mcpr_text_free(found);
            if (same)
                return remembered[place].tools[tool];
        }
    }
    return 0;
}

/* The tools that all requests are about: an exchange's, once one was begun. */
static size_t listed(mcpr_tool *tools, size_t capacity)
{
    return session != 0 ? mcpr_exchange_tools(exchange, tools, capacity) : mcpr_source_tools(source, tools, capacity);
}

static void tell_tools(long id)
{
    static mcpr_tool tools[32768];
    size_t count = listed(tools, sizeof tools / sizeof *tools);
    pthread_mutex_lock(&output);
    printf("{\"id\":%ld,\"ok\":[", id);
    const char *names[] = { "name", "description", "server", "serverTool", "inputSchema", "serverSchema" };
    const int facts[] = { MCPR_FACT_NAME, MCPR_FACT_DESCRIPTION, MCPR_FACT_SERVER, MCPR_FACT_SERVER_TOOL,
                          MCPR_FACT_INPUT_SCHEMA, MCPR_FACT_SERVER_SCHEMA };
    for (size_t tool = 0; tool < count; tool++) {
        for (size_t fact = 0; fact < 6; fact++) {
            mcpr_text text = mcpr_tool_text(tools[tool], facts[fact]);
            printf("%s\"%s\":", fact > 0 ? "," : tool > 0 ? ",{" : "{", names[fact]);
            put_quoted(stdout, text.data, text.length);
            mcpr_text_free(text);
        }
        putchar('}');
    }
    printf("]}\n");
    fflush(stdout);
    pthread_mutex_unlock(&output);
}

/* Starts what takes time. Returns the operation; 0 with an error. */
static uint64_t begin(const char *verb, const char *asked, mcpr_error **error)
{
    uint64_t operation = 0;
    char *server = text_of(asked, "server");
    if (strcmp(verb, "load") == 0 || strcmp(verb, "inventory") == 0) {
        char *config = text_of(asked, "config"), *options = member(asked, "options"), *asks = member(asked, "asks");
        int may_ask = asks != NULL && strcmp(asks, "true") == 0;
        operation = verb[0] == 'l' ? mcpr_load_start(queue, config, options, may_ask, error)
                                   : mcpr_inventory_start(queue, config, options, may_ask, error);
        free(config), free(options), free(asks);
    } else if (strcmp(verb, "open") == 0) {
        char *options = member(asked, "options"), *asks = member(asked, "asks");
        operation = mcpr_session_open_start(queue, options, asks != NULL && strcmp(asks, "true") == 0, error);
        free(options), free(asks);
    } else if (strcmp(verb, "exchange") == 0) {
        operation = mcpr_session_exchange_start(queue, session, error);
    } else if (strcmp(verb, "trust") == 0) {
        char *choice = member(asked, "choice");
        operation = mcpr_session_reload_start(queue, session, choice, error);
        free(choice);
    } else if (strcmp(verb, "reload") == 0 && session != 0) {
        operation = mcpr_session_reload_start(queue, session, NULL, error);
    } else if (strcmp(verb, "reload") == 0) {
        char *config = text_of(asked, "config");
        operation = mcpr_source_reload_start(queue, source, config, error);
        free(config);
    } else if (strcmp(verb, "wait_for") == 0) {
        char *states = member(asked, "states"), *timeout = member(asked, "timeoutMs");
        char *to = states;
        for (char *from = states; *from != '\0'; from++)
            if (strchr("[]\" ", *from) == NULL)
                *to++ = *from;
        *to = '\0';
        operation = mcpr_source_wait_for_start(queue, source, server, states, strtoull(timeout, NULL, 10), error);
        free(states), free(timeout);
    } else {
        int action = strcmp(verb, "start") == 0     ? MCPR_ACTION_START
                     : strcmp(verb, "stop") == 0    ? MCPR_ACTION_STOP
                     : strcmp(verb, "restart") == 0 ? MCPR_ACTION_RESTART
                     : strcmp(verb, "refresh") == 0 ? MCPR_ACTION_REFRESH
                                                    : MCPR_ACTION_CLOSE;
        operation = mcpr_source_do_start(queue, source, action, server, error);
    }
    free(server);
    return operation;
}

static void note(uint64_t operation, long id, const char *verb)
{
    size_t place = 0;
    while (place < MANY && running[place].operation != 0)
        place++;
    if (place == MANY)
        abort();
    running[place].operation = operation;
    running[place].id = id;
    snprintf(running[place].verb, sizeof running[place].verb, "%s", verb);
}

static void execute(long id, const char *asked, mcpr_error **error)
{
    char *name = text_of(asked, "tool"), *label = text_of(asked, "remembered");
    char *arguments = member(asked, "arguments"), *timeout = member(asked, "timeoutMs");
    mcpr_tool tool = find(name, label);
    if (tool == 0) {
        tell_host_error(id, "there is no such tool");
    } else {
        uint64_t limit = timeout == NULL ? 0 : strtoull(timeout, NULL, 10);
        size_t length = arguments == NULL ? 0 : strlen(arguments);
        pthread_mutex_lock(&lock);
        uint64_t operation = mcpr_tool_call_start(queue, tool, arguments, length, limit, false, error);
        if (operation != 0)
            note(operation, id, "execute");
        pthread_mutex_unlock(&lock);
    }
    free(name), free(label), free(arguments), free(timeout);
}

/* Answers what takes no time. Returns whether it was such a request. */
static int at_once(long id, const char *verb, const char *asked, mcpr_error **error)
{
    char *server = text_of(asked, "server");
    int known = 1;
    if (strcmp(verb, "tools") == 0) {
        tell_tools(id);
    } else if (strcmp(verb, "status") == 0) {
        tell("{\"id\":%N,\"ok\":%J}", (long long)id, mcpr_source_json(source, MCPR_VIEW_STATUS));
    } else if (strcmp(verb, "untrusted") == 0) {
        tell("{\"id\":%N,\"ok\":%J}", (long long)id, mcpr_session_untrusted(session));
    } else if (strcmp(verb, "problems") == 0) {
        tell("{\"id\":%N,\"ok\":%J}", (long long)id, mcpr_source_json(source, MCPR_VIEW_PROBLEMS));
    } else if (strcmp(verb, "state") == 0) {
        mcpr_text state = mcpr_source_state(source, server, error);
        if (state.data != NULL)
            tell("{\"id\":%N,\"ok\":%Q}", (long long)id, state);
    } else if (strcmp(verb, "info") == 0) {
        mcpr_text info = mcpr_source_info(source, server, error);
        if (info.data != NULL)
            tell_with_messages(id, info);
    } else if (strcmp(verb, "events") == 0) {
        char *after = member(asked, "after");
        tell("{\"id\":%N,\"ok\":%J}", (long long)id, mcpr_source_events(source, strtoull(after, NULL, 10)));
        free(after);
    } else if (strcmp(verb, "remember") == 0) {
        char *label = text_of(asked, "label");
        size_t place = label_count++;
        snprintf(remembered[place].label, sizeof remembered[place].label, "%s", label);
        remembered[place].count = listed(remembered[place].tools, MANY);
        free(label);
        tell("{\"id\":%N,\"ok\":null}", (long long)id);
    } else if (strcmp(verb, "same_tool") == 0) {
        char *name = text_of(asked, "tool"), *since = text_of(asked, "since");
        tell(find(name, NULL) == find(name, since) ? "{\"id\":%N,\"ok\":true}" : "{\"id\":%N,\"ok\":false}", (long long)id);
        free(name), free(since);
    } else if (strcmp(verb, "cancel") == 0) {
        char *request = member(asked, "request");
        pthread_mutex_lock(&lock);
        for (size_t place = 0; place < MANY; place++)
            if (running[place].operation != 0 && running[place].id == atol(request))
                mcpr_queue_cancel(queue, running[place].operation);
        pthread_mutex_unlock(&lock);
        free(request);
        tell("{\"id\":%N,\"ok\":null}", (long long)id);
    } else if (strcmp(verb, "answer") == 0) {
        char *question = member(asked, "question"), *answer = member(asked, "answer");
        size_t place = strtoull(question, NULL, 10);
        mcpr_queue_answer(queue, questions[place].question, questions[place].request, answer);
        free(question), free(answer);
        tell("{\"id\":%N,\"ok\":null}", (long long)id);
    } else {
        known = 0;
    }
    free(server);
    return known;
}

int main(void)
{
    pthread_t delivering;
    queue = mcpr_queue_new();
    pthread_create(&delivering, NULL, deliver_all, NULL);
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        char *number = member(line, "id"), *verb = text_of(line, "do");
        long id = atol(number);
        mcpr_error *error = NULL;
        if (strcmp(verb, "execute") == 0) {
            execute(id, line, &error);
        } else if (!at_once(id, verb, line, &error)) {
            pthread_mutex_lock(&lock);
            uint64_t operation = begin(verb, line, &error);
            if (operation != 0)
                note(operation, id, verb);
            pthread_mutex_unlock(&lock);
        }
        if (error != NULL)
            tell_error(id, error);
        free(number), free(verb);
    }
    free(line);
    mcpr_queue_free(queue);
    pthread_join(delivering, NULL);
    mcpr_exchange_free(exchange);
    if (session != 0)
        mcpr_session_free(session);
    else
        mcpr_source_free(source);
    return mcpr_shut_down(5000) ? 0 : 1;
}
