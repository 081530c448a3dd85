/* A small agent: loads a configuration, lists its tools, calls one, and goes on when the server is killed.
 *
 *     agent mcp.json TOOL '{"text": "hello"}'
 */

#include <mcp_resident.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(mcpr_error *error)
{
    fprintf(stderr, "%s\n", mcpr_error_message(error));
    mcpr_error_free(error);
    exit(1);
}

/* Calls a tool that does no harm, and once more when the server was lost under the call. */
static void ask(mcpr_tool tool, const char *arguments)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        mcpr_error *error = NULL;
        mcpr_result *result = mcpr_tool_call(tool, arguments, strlen(arguments), 0, &error);
        if (result == NULL)
            fail(error);
        mcpr_text output = mcpr_result_output(result);
        mcpr_text metadata = mcpr_result_metadata(result);
        int lost = strstr(metadata.data, "\"kind\":\"dropped\"") != NULL;
        printf("%s: %s\n", lost ? "lost" : "answer", output.data);
        mcpr_text_free(metadata);
        mcpr_text_free(output);
        mcpr_result_free(result);
        if (!lost)
            return;
    }
}

int main(int count, char **words)
{
    if (count != 4) {
        fprintf(stderr, "usage: agent CONFIG TOOL ARGUMENTS\n");
        return 2;
    }
    mcpr_error *error = NULL;
    mcpr_source source = mcpr_load(words[1], "{\"resident\": true}", &error);
    if (source == 0)
        fail(error);
    mcpr_tool tools[64];
    size_t found = mcpr_source_tools(source, tools, 64);
    for (size_t place = 0; place < found && place < 64; place++) {
        mcpr_text name = mcpr_tool_text(tools[place], MCPR_FACT_NAME);
        printf("tool: %s\n", name.data);
        mcpr_text_free(name);
    }
    mcpr_tool tool = mcpr_source_tool(source, words[2]);
    if (tool == 0) {
        fprintf(stderr, "there is no tool %s\n", words[2]);
        return 1;
    }
    ask(tool, words[3]);

    mcpr_text server = mcpr_tool_text(tool, MCPR_FACT_SERVER);
    mcpr_text info = mcpr_source_info(source, server.data, NULL);
    const char *process = strstr(info.data, "\"processId\":");
    if (process != NULL) {
        kill((pid_t)atol(process + strlen("\"processId\":")), SIGKILL);
        printf("killed %s\n", server.data);
        ask(tool, words[3]);
    }
    mcpr_text_free(info);
    mcpr_text_free(server);
    if (!mcpr_source_do(source, MCPR_ACTION_CLOSE, NULL, &error))
        fail(error);
    mcpr_source_free(source);
    return 0;
}
