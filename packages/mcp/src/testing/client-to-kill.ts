// A client that takes a task and then waits to be killed. It reads BATON_URL and BATON_TOKEN; its arguments are the
// server's.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const { PATH = '', BATON_URL = '', BATON_TOKEN = '' } = process.env;
const transport = new StdioClientTransport({
  command: process.execPath,
  args: process.argv.slice(2),
  env: { PATH, BATON_URL, BATON_TOKEN },
  stderr: 'inherit',
});
const client = new Client({ name: 'tests', version: '1' });
await client.connect(transport);
await client.callTool({ name: 'work_next', arguments: { assignedToMe: true } });
console.log(`server ${transport.pid} holds a task`);
