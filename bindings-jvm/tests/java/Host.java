// The host program for Java: does through the futures what the driver asks, and tells what it saw. What a host does is in the
// README of the fixtures.

import dev.mcpresident.Answer;
import dev.mcpresident.CallOptions;
import dev.mcpresident.Cancellation;
import dev.mcpresident.Exchange;
import dev.mcpresident.Json;
import dev.mcpresident.LoadOptions;
import dev.mcpresident.McpException;
import dev.mcpresident.McpSource;
import dev.mcpresident.ProjectTrust;
import dev.mcpresident.Request;
import dev.mcpresident.Session;
import dev.mcpresident.SessionOptions;
import dev.mcpresident.Tool;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

public final class Host {
    private static final PrintStream OUTPUT = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
    private static final Map<Long, Cancellation> RUNNING = new ConcurrentHashMap<>();
    private static final Map<String, List<Tool>> REMEMBERED = new ConcurrentHashMap<>();
    private static final List<CompletableFuture<Answer>> QUESTIONS = new ArrayList<>();
    private static volatile McpSource source;
    private static volatile Session session;
    private static volatile Exchange exchange;

    private static Map<String, Object> map(Object... members) {
        Map<String, Object> map = new HashMap<>();
        for (int place = 0; place < members.length; place += 2) map.put((String) members[place], members[place + 1]);
        return map;
    }

    private static void tell(Object... members) {
        String line = Json.write(map(members)) + "\n";
        synchronized (OUTPUT) {
            OUTPUT.print(line);
            OUTPUT.flush();
        }
    }

    private static CompletableFuture<Answer> ask(Request request) {
        CompletableFuture<Answer> answered = new CompletableFuture<>();
        int number;
        synchronized (QUESTIONS) {
            number = QUESTIONS.size();
            QUESTIONS.add(answered);
        }
        tell("question", number, "request", new Json.Raw(request.form));
        return answered;
    }

    private static Duration milliseconds(Object amount) {
        return amount == null ? null : Duration.ofMillis((Long) amount);
    }

    @SuppressWarnings("unchecked")
    private static LoadOptions options(Map<String, Object> asked) {
        LoadOptions options = new LoadOptions();
        for (Map.Entry<String, Object> option : ((Map<String, Object>) asked.get("options")).entrySet()) {
            Object value = option.getValue();
            switch (option.getKey()) {
                case "userConfig", "projectConfig", "projectTrust", "exchangeWaitMs" -> { }
                case "autoRestart" -> {
                    options.autoRestart = value instanceof Boolean on ? on : true;
                    if (value instanceof Map<?, ?> numbers) {
                        Long retries = (Long) numbers.get("maxRetries");
                        options.maxRetries = retries == null ? null : retries.intValue();
                        options.backoff = milliseconds(numbers.get("backoffMs"));
                    }
                }
                case "resident" -> options.resident = (Boolean) value;
                case "liveToolList" -> options.liveToolList = (Boolean) value;
                case "guardian" -> options.guardian = (Boolean) value;
                case "secretCommands" -> options.secretCommands = (Boolean) value;
                case "replayRepeatableCalls" -> options.replayRepeatableCalls = (Boolean) value;
                case "validateArguments" -> options.validateArguments = (Boolean) value;
                case "defaultInheritEnv" -> options.defaultInheritEnv = (List<String>) value;
                case "expand" -> options.expand = (String) value;
                case "wait" -> {
                    if (value instanceof Long) options.waitAtMost = milliseconds(value);
                    else options.wait = (String) value;
                }
                case "baseDir" -> options.baseDir = (String) value;
                case "spillDir" -> options.spillDir = (String) value;
                case "logDir" -> options.logDir = (String) value;
                case "cacheDir" -> options.cacheDir = (String) value;
                case "limits" -> options.limits = (Map<String, Long>) value;
                default -> throw new IllegalArgumentException("there is no option " + option.getKey());
            }
        }
        if (Boolean.TRUE.equals(asked.get("asks"))) options.waitFor = Host::ask;
        return options;
    }

    private static String config(Map<String, Object> asked) {
        return asked.get("config") instanceof String path ? path : Json.write(asked.get("config"));
    }

    @SuppressWarnings("unchecked")
    private static SessionOptions sessionOptions(Map<String, Object> asked) {
        Map<String, Object> all = (Map<String, Object>) asked.get("options");
        SessionOptions options = new SessionOptions((String) all.get("baseDir"));
        options.load = options(asked);
        options.userConfig = (String) all.get("userConfig");
        options.projectConfig = (String) all.get("projectConfig");
        if ("all".equals(all.get("projectTrust"))) options.projectTrust = ProjectTrust.ALL;
        options.exchangeWait = milliseconds(all.get("exchangeWaitMs"));
        return options;
    }

    /** The tools that all requests are about: an exchange's, once one was begun. */
    private static List<Tool> listed() {
        if (session == null) return source.getTools();
        return exchange == null ? List.of() : exchange.getTools();
    }

    private static Object takeOver(McpSource loaded, Session opened) {
        loaded.onEvent(event -> tell("event", new Json.Raw(event)));
        source = loaded;
        session = opened;
        exchange = null;
        return null;
    }

    private static Tool find(Object name, Object label) {
        Tool found;
        if (label != null) found = REMEMBERED.get((String) label).stream().filter(tool -> tool.getName().equals(name)).findFirst().orElse(null);
        else found = exchange != null ? exchange.tool((String) name) : source.tool((String) name);
        if (found == null) throw new IllegalArgumentException("there is no tool " + name);
        return found;
    }

    private static Map<String, Object> withMessage(Object form, String name) {
        Map<String, Object> copy = new HashMap<>();
        ((Map<?, ?>) form).forEach((key, value) -> copy.put((String) key, value));
        copy.computeIfPresent(name, (key, error) -> ((Map<?, ?>) error).get("message"));
        return copy;
    }

    /** The text of the arguments: what a reader makes of `1e2` would be written in other words. */
    private static String arguments(String line) {
        int start = line.indexOf("\"arguments\":") + "\"arguments\":".length();
        for (int end = line.length() - 1; end > start; end--) {
            try {
                Json.parse(line.substring(start, end));
                return line.substring(start, end);
            } catch (IllegalArgumentException notYet) {
                // Not the end of the value.
            }
        }
        throw new IllegalArgumentException(line);
    }

    @SuppressWarnings("unchecked")
    private static CompletableFuture<?> carryOut(String verb, Map<String, Object> asked, String line, Cancellation cancellation) {
        String server = (String) asked.get("server");
        switch (verb) {
            case "load":
                return McpSource.loadAsync(config(asked), options(asked), cancellation).thenApply(loaded -> takeOver(loaded, null));
            case "open":
                return Session.openAsync(sessionOptions(asked), cancellation).thenApply(opened -> takeOver(opened.getSource(), opened));
            case "exchange":
                return session.exchangeAsync(cancellation).thenApply(begun -> {
                    exchange = begun;
                    return null;
                });
            case "trust":
                return session.trustAsync(ProjectTrust.only((List<String>) asked.get("choice"))).thenApply(Json.Raw::new);
            case "inventory":
                return McpSource.listToolsAsync(config(asked), options(asked)).thenApply(entries ->
                    ((List<Object>) Json.parse(entries)).stream().map(entry -> withMessage(entry, "error")).collect(Collectors.toList()));
            case "execute":
                String given = asked.containsKey("arguments") ? arguments(line) : null;
                CallOptions options = new CallOptions(milliseconds(asked.get("timeoutMs")), null, cancellation);
                return find(asked.get("tool"), asked.get("remembered")).executeAsync(given, options).thenApply(result ->
                    map("output", result.getOutput(), "isError", result.isError(), "metadata", new Json.Raw(result.getMetadataJson())));
            case "start": return source.startAsync(server, cancellation);
            case "stop": return source.stopAsync(server);
            case "restart": return source.restartAsync(server, cancellation);
            case "refresh": return source.refreshAsync(server);
            case "reload":
                if (session != null) return session.reloadAsync().thenApply(Json.Raw::new);
                return source.reloadAsync(asked.get("config") == null ? null : config(asked), cancellation).thenApply(Json.Raw::new);
            case "wait_for": return source.waitForAsync(server, (List<String>) asked.get("states"), milliseconds(asked.get("timeoutMs")));
            case "close": return source.closeAsync();
            default: return CompletableFuture.completedFuture(atOnce(verb, asked, server));
        }
    }

    private static Object atOnce(String verb, Map<String, Object> asked, String server) {
        switch (verb) {
            case "tools":
                return listed().stream().map(tool -> map(
                    "name", tool.getName(), "description", tool.getDescription(), "server", tool.getServer(), "serverTool", tool.getServerTool(),
                    "inputSchema", tool.getInputSchema(), "serverSchema", tool.getServerSchema())).collect(Collectors.toList());
            case "untrusted": return new Json.Raw(session.getUntrustedJson());
            case "status": return source.getStatus();
            case "state": return source.state(server);
            case "info": return withMessage(source.info(server), "lastError");
            case "problems": return new Json.Raw(source.getProblemsJson());
            case "events": return new Json.Raw(source.eventsJson((Long) asked.get("after")));
            case "remember":
                REMEMBERED.put((String) asked.get("label"), listed());
                return null;
            case "same_tool": return find(asked.get("tool"), null) == find(asked.get("tool"), asked.get("since"));
            case "cancel":
                RUNNING.get((Long) asked.get("request")).cancel();
                return null;
            case "answer":
                Map<?, ?> answer = (Map<?, ?>) asked.get("answer");
                Object reason = answer.get("reason");
                Answer given = Boolean.TRUE.equals(answer.get("ok")) ? Answer.accept(answer.get("data")) : Answer.refuse(reason == null ? "cancelled" : (String) reason);
                synchronized (QUESTIONS) {
                    QUESTIONS.get(((Long) asked.get("question")).intValue()).complete(given);
                }
                return null;
            default: throw new IllegalArgumentException("no request is called " + verb);
        }
    }

    private static void failed(long id, Throwable failure) {
        Throwable cause = failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        if (cause instanceof McpException error) {
            tell("id", id, "error", map("kind", error.getCode(), "server", error.getServer(), "message", error.getMessage()));
        } else {
            tell("id", id, "error", map("kind", "host", "message", cause.toString()));
        }
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] words) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            Map<String, Object> asked = (Map<String, Object>) Json.parse(line);
            long id = (Long) asked.get("id");
            Cancellation cancellation = new Cancellation();
            RUNNING.put(id, cancellation);
            try {
                carryOut((String) asked.get("do"), asked, line, cancellation).whenComplete((value, failure) -> {
                    if (failure == null) tell("id", id, "ok", value);
                    else failed(id, failure);
                });
            } catch (RuntimeException failure) {
                failed(id, failure);
            }
        }
    }
}
