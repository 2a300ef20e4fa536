import { join } from 'node:path';
import { livenessTests } from '@baton/kernel/testing/liveness/liveness';
import { matrixSetup } from '../testing/app/matrix-setup.ts';

livenessTests({
  ...matrixSetup,
  program: { main: join(import.meta.dirname, 'main.ts'), portSetting: 'CP_PORT', readyPath: '/health/ready' },
  async ordinary({ otherTenant: { actor } }) {
    const headers = { authorization: `Bearer ${actor.token}`, 'content-type': 'application/json' };
    const task = JSON.stringify({ title: 'An ordinary task', typeKey: 'task' });
    return [
      { method: 'GET', path: '/api/v1/tasks?limit=10', headers: { authorization: headers.authorization } },
      { method: 'POST', path: '/api/v1/tasks', headers, body: task },
    ];
  },
});
