/*
 * mcp-resident: keeps the tools of MCP servers usable for an agent that runs for days.
 *
 * Written by `cargo test -p mcp-resident-c --test header` with WRITE_HEADER=1; do not edit.
 *
 * Rules that hold everywhere:
 *
 * - Sources, sessions, exchanges, tools, operations, subscriptions and questions are numbers. A number is never given twice, and 0 is none. One
 *   that is not known any more is an error or nothing, never another object.
 * - Texts that are passed in are UTF-8 and end with NUL, or come with their length. They are copied before the call returns.
 * - Texts that are handed out are UTF-8, are followed by a NUL that their length does not count, and are given back with
 *   mcpr_text_free. Text may hold NUL itself.
 * - Objects that are pointers (errors, results, deliveries) belong to who got them, and are given back once with their own
 *   function; giving back NULL does nothing.
 * - A function that fails returns 0, false or NULL and, when `error` is not NULL, leaves an error there.
 * - Every function may be called from any thread. Nothing of the caller's runs on a thread of the library.
 * - Every operation that was started is completed exactly once: also when it is cancelled, and when its source is closed.
 *   A queue that is freed completes nothing any more.
 * - After a fork only the parent goes on; in the child everything fails with the code `forked`.
 */

#ifndef MCP_RESIDENT_H
#define MCP_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * What a delivery is.
 */
typedef enum {
  /**
   * Nothing that this version knows.
   */
  MCPR_KIND_UNKNOWN = 0,
  /**
   * A load has ended well: mcpr_delivery_source has the source.
   */
  MCPR_KIND_LOADED = 1,
  /**
   * A call has ended: mcpr_delivery_result has the result.
   */
  MCPR_KIND_CALLED = 2,
  /**
   * Another operation has ended well: mcpr_delivery_json has the value, when it has one.
   */
  MCPR_KIND_DONE = 3,
  /**
   * An operation has failed: mcpr_delivery_error says why.
   */
  MCPR_KIND_FAILED = 4,
  /**
   * A call has made progress: mcpr_delivery_json has the params of the notification.
   */
  MCPR_KIND_PROGRESS = 5,
  /**
   * Something happened to a server: mcpr_delivery_json has the event.
   */
  MCPR_KIND_EVENT = 6,
  /**
   * Events were left out because too many were waiting: mcpr_delivery_json has how many. The source's history has them.
   */
  MCPR_KIND_MISSED = 7,
  /**
   * A server asks a person: mcpr_delivery_json has the request, and mcpr_delivery_load the load that it is about.
   */
  MCPR_KIND_QUESTION = 8,
  /**
   * A question needs no answer any more.
   */
  MCPR_KIND_QUESTION_ENDED = 9,
  /**
   * A session was opened: mcpr_delivery_session has it.
   */
  MCPR_KIND_OPENED = 10,
  /**
   * An exchange has begun: mcpr_delivery_exchange has it.
   */
  MCPR_KIND_EXCHANGED = 11,
} mcpr_kind;

/**
 * Numbers of the codes of errors. They stay as they are; new ones are added at the end.
 */
typedef enum {
  /**
   * The configuration, or something else that was passed in, cannot be used.
   */
  MCPR_CODE_CONFIG = 1,
  /**
   * No server of this name is in the configuration.
   */
  MCPR_CODE_UNKNOWN_SERVER = 2,
  /**
   * The server is switched off by its configuration.
   */
  MCPR_CODE_DISABLED = 3,
  /**
   * The program could not be started.
   */
  MCPR_CODE_SPAWN = 4,
  /**
   * The server could not be reached, or refused the connection.
   */
  MCPR_CODE_CONNECT = 5,
  /**
   * The server asks for credentials that it was not given.
   */
  MCPR_CODE_NEEDS_AUTH = 6,
  /**
   * The server broke the protocol.
   */
  MCPR_CODE_PROTOCOL = 7,
  /**
   * The connection ended.
   */
  MCPR_CODE_DROPPED = 8,
  /**
   * A limit of time ran out.
   */
  MCPR_CODE_TIMEOUT = 9,
  /**
   * The caller cancelled.
   */
  MCPR_CODE_CANCELLED = 10,
  /**
   * The source was closed.
   */
  MCPR_CODE_CLOSED = 11,
  /**
   * The process was forked after it had loaded servers.
   */
  MCPR_CODE_FORKED = 12,
  /**
   * A defect of this library, or a code that this version has no number for.
   */
  MCPR_CODE_INTERNAL = 13,
} mcpr_code;

/**
 * What mcpr_source_json gives.
 */
typedef enum {
  /**
   * How the newest attempt of each server ended: an object.
   */
  MCPR_VIEW_STATUS = 0,
  /**
   * The names of all servers, in the order of the configuration: a list.
   */
  MCPR_VIEW_SERVERS = 1,
  /**
   * Everything that is known of each tool: a list.
   */
  MCPR_VIEW_TOOLS = 2,
  /**
   * What is wrong in the configuration: a list.
   */
  MCPR_VIEW_PROBLEMS = 3,
} mcpr_view;

/**
 * What is done to a server, or to all.
 */
typedef enum {
  /**
   * Connects it, unless that is done or under way.
   */
  MCPR_ACTION_START = 0,
  /**
   * Disconnects it and waits until nothing of it is left.
   */
  MCPR_ACTION_STOP = 1,
  /**
   * Disconnects it and connects it again. Calls that run fail at once.
   */
  MCPR_ACTION_RESTART = 2,
  /**
   * Lists its tools again; without a server, those of all that are connected.
   */
  MCPR_ACTION_REFRESH = 3,
  /**
   * Closes the whole source and waits until nothing of it is left. Closing again is harmless.
   */
  MCPR_ACTION_CLOSE = 4,
} mcpr_action;

/**
 * Which events a subscription is about.
 */
typedef enum {
  /**
   * All of them.
   */
  MCPR_INTEREST_EVERYTHING = 0,
  /**
   * Changes of a server's state.
   */
  MCPR_INTEREST_STATES = 1,
  /**
   * Changes of a server's part of the tool list.
   */
  MCPR_INTEREST_TOOLS = 2,
} mcpr_interest;

/**
 * What mcpr_tool_text gives.
 */
typedef enum {
  /**
   * The name for a model: at most 64 characters of `[A-Za-z0-9_-]`, unique in its source.
   */
  MCPR_FACT_NAME = 0,
  /**
   * What the tool does, in the server's words.
   */
  MCPR_FACT_DESCRIPTION = 1,
  /**
   * The tool's title for people; no text when it has none.
   */
  MCPR_FACT_TITLE = 2,
  /**
   * The server's name in the configuration.
   */
  MCPR_FACT_SERVER = 3,
  /**
   * The tool's own name on its server.
   */
  MCPR_FACT_SERVER_TOOL = 4,
  /**
   * JSON: the schema of arguments for a model, a closed object.
   */
  MCPR_FACT_INPUT_SCHEMA = 5,
  /**
   * JSON: the schema of arguments as the server gave it.
   */
  MCPR_FACT_SERVER_SCHEMA = 6,
  /**
   * JSON: the schema of `structuredContent`; no text when there is none.
   */
  MCPR_FACT_OUTPUT_SCHEMA = 7,
  /**
   * JSON: the server's hints about the tool, which are claims and not facts; no text when there are none.
   */
  MCPR_FACT_ANNOTATIONS = 8,
} mcpr_fact;

/**
 * One thing that a host is told.
 */
typedef struct mcpr_delivery mcpr_delivery;

/**
 * Why something failed.
 */
typedef struct mcpr_error mcpr_error;

/**
 * What a call gave.
 */
typedef struct mcpr_result mcpr_result;

/**
 * A text that belongs to who got it. `data` is NULL when there is none.
 */
typedef struct {
  /**
   * UTF-8, followed by a NUL.
   */
  char *data;
  /**
   * The bytes before that NUL.
   */
  size_t length;
} mcpr_text;

/**
 * The servers of a configuration. 0 is none.
 */
typedef uint64_t mcpr_source;

/**
 * The servers of a user and a project. 0 is none.
 */
typedef uint64_t mcpr_session;

/**
 * The tools of one exchange, which stay as they are. 0 is none.
 */
typedef uint64_t mcpr_exchange;

/**
 * Where outcomes, events and questions arrive. 0 is none.
 */
typedef uint64_t mcpr_queue;

/**
 * What mcpr_queue_run calls: `user` is the number that it was given, and `delivery` is valid during the call only.
 */
typedef void (*mcpr_callback)(uint64_t user, mcpr_delivery *delivery);

/**
 * One tool of one server. Valid until its source is freed. 0 is none.
 */
typedef uint64_t mcpr_tool;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * What it is.
 */
mcpr_kind mcpr_delivery_kind(const mcpr_delivery *delivery);

/**
 * The operation, subscription or question that it belongs to.
 */
uint64_t mcpr_delivery_id(const mcpr_delivery *delivery);

/**
 * Of a question: the load whose host is asked.
 */
uint64_t mcpr_delivery_load(const mcpr_delivery *delivery);

/**
 * Its value as JSON; no text when it has none.
 */
mcpr_text mcpr_delivery_json(const mcpr_delivery *delivery);

/**
 * Takes the source out: it belongs to the caller from now on. 0 when there is none, or it was taken.
 */
mcpr_source mcpr_delivery_source(mcpr_delivery *delivery);

/**
 * Takes the session out: it belongs to the caller from now on. 0 when there is none, or it was taken.
 */
mcpr_session mcpr_delivery_session(mcpr_delivery *delivery);

/**
 * Takes the exchange out: it belongs to the caller from now on. 0 when there is none, or it was taken.
 */
mcpr_exchange mcpr_delivery_exchange(mcpr_delivery *delivery);

/**
 * Takes the result out: it belongs to the caller from now on. NULL when there is none, or it was taken.
 */
mcpr_result *mcpr_delivery_result(mcpr_delivery *delivery);

/**
 * Takes the error out: it belongs to the caller from now on. NULL when there is none, or it was taken.
 */
mcpr_error *mcpr_delivery_error(mcpr_delivery *delivery);

/**
 * Gives a delivery back, with whatever was not taken out of it.
 */
void mcpr_delivery_free(mcpr_delivery *delivery);

/**
 * The number of an error's code; 0 for NULL.
 */
int32_t mcpr_error_number(const mcpr_error *error);

/**
 * The stable code of an error, such as `unknown_server`: the same in every language. It lives as long as the error.
 */
const char *mcpr_error_code(const mcpr_error *error);

/**
 * The server that failed, or NULL when no server did. It lives as long as the error.
 */
const char *mcpr_error_server(const mcpr_error *error);

/**
 * One line that says what happened and what to do. It lives as long as the error.
 */
const char *mcpr_error_message(const mcpr_error *error);

/**
 * Gives an error back.
 */
void mcpr_error_free(mcpr_error *error);

/**
 * A new queue. mcpr_queue_free gives it back.
 */
mcpr_queue mcpr_queue_new(void);

/**
 * Cancels what runs on a queue, and gives it back. Who waits for it gets nothing.
 */
void mcpr_queue_free(mcpr_queue queue);

/**
 * The next delivery, for which it waits at most `timeout_ms` milliseconds; NULL when none came, or the queue was freed.
 */
mcpr_delivery *mcpr_queue_next(mcpr_queue queue, uint64_t timeout_ms);

/**
 * Calls `callback` for each delivery, on this thread, until the queue is freed.
 */
void mcpr_queue_run(mcpr_queue queue, mcpr_callback callback, uint64_t user);

/**
 * Cancels an operation that was started on this queue. Its completion still comes. Returns whether it was running.
 */
bool mcpr_queue_cancel(mcpr_queue queue, uint64_t operation);

/**
 * How many operations were started on this queue and are not completed.
 */
size_t mcpr_queue_running(mcpr_queue queue);

/**
 * Answers a question. `request_id` is the `id` of its request; `answer` is JSON: `{"ok": true, "data": ...}` or `{"ok": false,
 * "reason": "declined"}`. Anything else refuses. Returns whether the question was open.
 */
bool mcpr_queue_answer(mcpr_queue queue,
                       uint64_t question,
                       const char *request_id,
                       const char *answer);

/**
 * Loads a configuration and waits for it. `config` is the path of a file, or JSON that begins with `{`; `options` is a JSON
 * object (see the documentation of options), or NULL. The source belongs to the caller: mcpr_source_do with MCPR_ACTION_CLOSE closes it, and
 * mcpr_source_free gives it back. Questions of servers need a queue: mcpr_load_start.
 */
mcpr_source mcpr_load(const char *config,
                      const char *options,
                      mcpr_error **error);

/**
 * Starts a load; with `asks`, questions of its servers arrive in the queue. Its completion is MCPR_KIND_LOADED or
 * MCPR_KIND_FAILED. Returns the operation.
 */
uint64_t mcpr_load_start(mcpr_queue queue, const char *config, const char *options, bool asks, mcpr_error **error);

/**
 * Connects every server that is not disabled, lists its tools under their own names, and disconnects. JSON: a list of
 * `{"server", "status", "error", "tools"}`.
 */
mcpr_text mcpr_inventory(const char *config, const char *options, mcpr_error **error);

/**
 * Starts an inventory. Its completion is MCPR_KIND_DONE with the list, or MCPR_KIND_FAILED. Returns the operation.
 */
uint64_t mcpr_inventory_start(mcpr_queue queue, const char *config, const char *options, bool asks, mcpr_error **error);

/**
 * Closes every source of this process, for a host that ends, and waits at most so long until nothing of the library runs.
 * Returns whether nothing does.
 */
bool mcpr_shut_down(uint64_t limit_ms);

/**
 * JSON: `{"errors": [...], "failures": [...]}`, every code of an error and every kind of a failed call.
 */
mcpr_text mcpr_codes(void);

/**
 * How many queues, sources and tools have not been given back: for tests of leaks.
 */
size_t mcpr_open_handles(void);

/**
 * The version of the library, such as `0.1.0`.
 */
const char *mcpr_version(void);

/**
 * Whether the call failed, for whatever reason.
 */
bool mcpr_result_is_error(const mcpr_result *result);

/**
 * The text for a model.
 */
mcpr_text mcpr_result_output(const mcpr_result *result);

/**
 * JSON: `{"server", "tool"}`, and `"error"` with `kind`, `executed`, `message`, `code`, `data`, `exit`, `stderrTail` as far as
 * they apply.
 */
mcpr_text mcpr_result_metadata(const mcpr_result *result);

/**
 * The whole result as the JSON text that the server sent; no text when it sent none.
 */
mcpr_text mcpr_result_raw(const mcpr_result *result);

/**
 * Gives a result back.
 */
void mcpr_result_free(mcpr_result *result);

/**
 * Opens a session and waits until its files are read; its servers are connected in the background. `options` is a JSON object: `baseDir` and
 * `projectTrust` have to be given, see the documentation of options. The session belongs to the caller: its source is closed with
 * mcpr_source_do and MCPR_ACTION_CLOSE, and mcpr_session_free gives both back. Questions of servers need a queue:
 * mcpr_session_open_start.
 */
mcpr_session mcpr_session_open(const char *options,
                               mcpr_error **error);

/**
 * Starts the same; with `asks`, questions of its servers arrive in the queue. Its completion is MCPR_KIND_OPENED or
 * MCPR_KIND_FAILED. Returns the operation.
 */
uint64_t mcpr_session_open_start(mcpr_queue queue, const char *options, bool asks, mcpr_error **error);

/**
 * Gives a session and its source back. One that is open is closed in the background.
 */
void mcpr_session_free(mcpr_session session);

/**
 * The session's servers, for everything that is done to them. It belongs to the session and is not freed by itself. 0 when the session is
 * not known.
 */
mcpr_source mcpr_session_source(mcpr_session session);

/**
 * Begins an exchange and waits for it: for servers that are new or changed. The exchange belongs to the caller; 0 with an error.
 */
mcpr_exchange mcpr_session_exchange(mcpr_session session,
                                    mcpr_error **error);

/**
 * Starts the same. Its completion is MCPR_KIND_EXCHANGED or MCPR_KIND_FAILED. Returns the operation.
 */
uint64_t mcpr_session_exchange_start(mcpr_queue queue, mcpr_session session, mcpr_error **error);

/**
 * Has the session read its files again, and waits for it. With `choice`, it first decides anew what of the project's file may be started:
 * JSON, `"all"`, `"nothing"` or a list of fingerprints. Returns JSON as mcpr_source_reload does; no text with an error.
 */
mcpr_text mcpr_session_reload(mcpr_session session,
                              const char *choice,
                              mcpr_error **error);

/**
 * Starts the same. Its completion is MCPR_KIND_DONE with that JSON, or MCPR_KIND_FAILED. Returns the operation.
 */
uint64_t mcpr_session_reload_start(mcpr_queue queue, mcpr_session session, const char *choice, mcpr_error **error);

/**
 * JSON: what the project's file would start and is not trusted, a list of `{"name", "launchLine", "fingerprint"}`.
 */
mcpr_text mcpr_session_untrusted(mcpr_session session);

/**
 * Gives an exchange back. Its tools stay valid until the session is freed.
 */
void mcpr_exchange_free(mcpr_exchange exchange);

/**
 * Writes the numbers of the tools to declare to the model to `tools`, at most `capacity` of them, and returns how many there are. They are valid
 * until the session is freed.
 */
size_t mcpr_exchange_tools(mcpr_exchange exchange,
                           mcpr_tool *tools,
                           size_t capacity);

/**
 * A tool by its name for models, hidden and deferred ones included; 0 when there is none. Valid until the session is freed.
 */
mcpr_tool mcpr_exchange_tool(mcpr_exchange exchange,
                             const char *name);

/**
 * Gives a source and its tools back. One that is open is closed in the background.
 */
void mcpr_source_free(mcpr_source source);

/**
 * Writes the numbers of the tools, as they are now, to `tools`, at most `capacity` of them, and returns how many there are.
 * The numbers are valid until the source is freed, and a tool keeps its number as long as its definition stays the same.
 */
size_t mcpr_source_tools(mcpr_source source,
                         mcpr_tool *tools,
                         size_t capacity);

/**
 * The tool that a model knows by this name; 0 when there is none. Valid until the source is freed.
 */
mcpr_tool mcpr_source_tool(mcpr_source source, const char *name);

/**
 * What is known of a source, as JSON. `view` is one of mcpr_view.
 */
mcpr_text mcpr_source_json(mcpr_source source, int32_t view);

/**
 * A server's state: `stopped`, `starting`, `running` or `error`.
 */
mcpr_text mcpr_source_state(mcpr_source source, const char *server, mcpr_error **error);

/**
 * JSON: what is known of a server: `state`, `status`, `generation`, `restarts`, `processId`, `lastError` and more.
 */
mcpr_text mcpr_source_info(mcpr_source source, const char *server, mcpr_error **error);

/**
 * JSON: the newest events after a sequence, oldest first; 0 gives all that are kept.
 */
mcpr_text mcpr_source_events(mcpr_source source, uint64_t after);

/**
 * JSON: `[server, tool]` behind a name for models; no text when the name was never given.
 */
mcpr_text mcpr_source_owner_of(mcpr_source source, const char *name);

/**
 * The name for models of a server's tool; no text when it has none.
 */
mcpr_text mcpr_source_name_of(mcpr_source source, const char *server, const char *tool);

/**
 * Does something to a server and waits for it. `action` is one of mcpr_action; `server` may be NULL where the action does not need one.
 */
bool mcpr_source_do(mcpr_source source,
                    int32_t action,
                    const char *server,
                    mcpr_error **error);

/**
 * Starts the same. Its completion is MCPR_KIND_DONE or MCPR_KIND_FAILED. Returns the operation.
 */
uint64_t mcpr_source_do_start(mcpr_queue queue,
                              mcpr_source source,
                              int32_t action,
                              const char *server,
                              mcpr_error **error);

/**
 * Takes a new configuration in the place of the one that is there and waits as the load did; with NULL, reads the file
 * again that was loaded. What is started in the same way keeps its connection. Returns JSON: `{"added", "removed",
 * "restarted", "adjusted"}`, each the names of servers; no text with an error, and then nothing has changed unless the
 * error is `cancelled`.
 */
mcpr_text mcpr_source_reload(mcpr_source source, const char *config, mcpr_error **error);

/**
 * Starts the same. Its completion is MCPR_KIND_DONE with that JSON, or MCPR_KIND_FAILED. Returns the operation.
 */
uint64_t mcpr_source_reload_start(mcpr_queue queue, mcpr_source source, const char *config, mcpr_error **error);

/**
 * Starts to wait until a server is in one of the states of `states`, which are separated by commas, for at most `timeout_ms`.
 * Its completion is MCPR_KIND_DONE with the state as JSON, or MCPR_KIND_FAILED. Returns the operation.
 */
uint64_t mcpr_source_wait_for_start(mcpr_queue queue,
                                    mcpr_source source,
                                    const char *server,
                                    const char *states,
                                    double timeout_ms,
                                    mcpr_error **error);

/**
 * Waits for the same, and returns the state.
 */
mcpr_text mcpr_source_wait_for(mcpr_source source,
                               const char *server,
                               const char *states,
                               double timeout_ms,
                               mcpr_error **error);

/**
 * Events of a source arrive in a queue from now on. `interest` is one of mcpr_interest. Returns the subscription.
 */
uint64_t mcpr_source_subscribe(mcpr_queue queue, mcpr_source source, int32_t interest, mcpr_error **error);

/**
 * Ends a subscription. What was delivered before may still wait in the queue.
 */
void mcpr_source_unsubscribe(mcpr_source source, uint64_t subscription);

/**
 * Replaces the variables that servers started from now on see: a JSON object of texts. For hosts that keep a copy of the
 * environment of their own; without this it is that of the process.
 */
bool mcpr_source_set_environment(mcpr_source source,
                                 const char *variables,
                                 mcpr_error **error);

/**
 * Gives a text back.
 */
void mcpr_text_free(mcpr_text text);

/**
 * A fact about a tool. `fact` is one of mcpr_fact.
 */
mcpr_text mcpr_tool_text(mcpr_tool tool, int32_t fact);

/**
 * Calls a tool and waits for the result. What a server did is never an error of this function: the result has it.
 *
 * `arguments` is the JSON text of an object of `length` bytes, or NULL. `timeout_ms` is how long the server may be silent, in
 * milliseconds, rounded up and at least one; 0 takes the server's own `timeout`.
 */
mcpr_result *mcpr_tool_call(mcpr_tool tool,
                            const char *arguments,
                            size_t length,
                            double timeout_ms,
                            mcpr_error **error);

/**
 * Starts the same; with `progress`, its progress arrives in the queue. Its completion is MCPR_KIND_CALLED. Returns the
 * operation.
 */
uint64_t mcpr_tool_call_start(mcpr_queue queue,
                              mcpr_tool tool,
                              const char *arguments,
                              size_t length,
                              double timeout_ms,
                              bool progress,
                              mcpr_error **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MCP_RESIDENT_H */
