export {
  mayConnect,
  peopleOnlyPermissions,
  requireAdministrator,
  suitsAgents,
} from './connect/agent-access.ts';
export {
  type ConnectRequest,
  type ConnectServices,
  cancelConnection,
  connectAgent,
} from './connect/connect-agent.ts';
export { ConnectRefusal } from './connect/connect-refusal.ts';
export {
  describeConnected,
  type FirstCall,
  waitForFirstCall,
} from './connect/first-call.ts';
export type { IssuedConnection } from './connect/issued-connection.ts';
export {
  type McpClient,
  type McpClientName,
  mcpClientNames,
  mcpClients,
  tokenVariable,
} from './connect/mcp-clients.ts';
export {
  buildSnippet,
  type ConnectClient,
  connectClientNames,
  connectClients,
  isMcpClient,
  type Snippet,
} from './connect/snippets.ts';
