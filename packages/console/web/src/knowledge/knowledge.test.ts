import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Rule } from '@baton/sdk';
import {
  click,
  exampleOf,
  fill,
  find,
  isThere,
  itemOf,
  notSeen,
  open,
  pageOf,
  Refusal,
  see,
  settled,
  submit,
  test,
} from '../testing/page.ts';

const evil = '<img src=x onerror="window.ran=1">';
const rule = (other: Partial<Rule> = {}): Rule =>
  itemOf('rules.list', {
    key: 'review-all',
    description: `Every change is reviewed ${evil}`,
    status: 'enabled',
    version: 2,
    ...other,
  });

describe('knowledge', () => {
  test('without rules it shows how to create one', async () => {
    await open('/knowledge');
    await see('No work rules. A rule creates work when an event occurs');
  });

  test('a rule is shown with its trigger and action', async () => {
    const { action } = itemOf('rules.list');
    const [one, two] = [
      rule({ trigger: { kind: 'event', type: 'task.completed' } }),
      rule({ id: 'r2', key: 'nightly', trigger: { kind: 'schedule', type: 'interval', everySeconds: 3600 } }),
    ];
    await open('/knowledge', { answers: { 'rules.list': pageOf(one, two) } });
    const words = action.kind.replaceAll('_', ' ');
    await see(
      new RegExp(
        `review-all version 2 · enabled · updated .*\\nWhen task\\.completed: ${words}\\nEvery change is reviewed <img`,
      ),
    );
    await see(`Every 3600 s: ${words}`);
    assert.equal(document.querySelector('img'), null);
  });

  test('a rule is disabled and enabled', async () => {
    const service = await open('/knowledge', {
      answers: { 'rules.list': pageOf(rule()), 'rules.disable': rule(), 'rules.enable': rule() },
    });
    service.answer({ 'rules.list': pageOf(rule({ status: 'disabled' })) });
    await click('button', 'Disable review-all');
    await click('button', 'Enable review-all');
    assert.deepEqual(
      [service.askedFor('rules.disable').length, service.askedFor('rules.enable').length],
      [1, 1],
    );
    assert.deepEqual(service.askedFor('rules.disable')[0]?.ids, [rule().id]);
  });

  test('a rejected change is shown next to the rule', async () => {
    await open('/knowledge', {
      answers: {
        'rules.list': pageOf(rule()),
        'rules.disable': new Refusal(403, 'permission_denied', 'Not you.'),
      },
    });
    await click('button', 'Disable review-all');
    await see('Not you.\npermission_denied · req_test');
  });

  test('without the permission to write rules, actions are hidden', async () => {
    await open('/knowledge', {
      me: { permissions: ['rules.read'] },
      answers: { 'rules.list': pageOf(rule()) },
    });
    await see('review-all');
    assert.ok(!isThere('button', 'Disable review-all'));
    await see('Memory search results require the permission events.read.');
  });

  test('an archived rule is not changed', async () => {
    await open('/knowledge', { answers: { 'rules.list': pageOf(rule({ status: 'archived' })) } });
    assert.ok(!isThere('button', /review-all/));
  });

  test('without the permission to read rules, the permission is shown', async () => {
    await open('/knowledge', { me: { permissions: ['events.read'] } });
    await see('Work rules require the permission rules.read.');
  });

  test('without a memory service it shows how to configure one', async () => {
    const service = await open('/knowledge', {
      answers: { 'context.recall': new Refusal(409, 'memory_disabled') },
    });
    await fill('textbox', 'Search memory', 'invoices');
    await submit('textbox', 'Search memory');
    await see('CP_CONTEXT_BASE_URL');
    assert.ok(!isThere('alert'));
    assert.deepEqual(service.askedFor('context.recall')[0]?.body, { query: 'invoices', limit: 20 });
  });

  test('results are grouped by kind, and none is reported', async () => {
    const found = exampleOf('context.recall');
    const service = await open('/knowledge', {
      answers: {
        'context.recall': {
          ...found,
          pack: { ...found.pack, entities: [], snapshots: [], facts: [{ says: `It rains ${evil}` }] },
        },
      },
    });
    await fill('textbox', 'Search memory', 'rain');
    await submit('textbox', 'Search memory');
    await see(`Facts\nsays\nIt rains ${evil}`);
    notSeen('Entities');
    service.answer({
      'context.recall': {
        ...found,
        pack: { ...found.pack, entities: [], snapshots: [], facts: [] },
      },
    });
    await fill('textbox', 'Search memory', 'snow');
    await submit('textbox', 'Search memory');
    await see('No results.');
  });
});

describe('skills and tools', () => {
  test('empty lists show how to create an item', async () => {
    await open('/skills');
    await see('No skills yet');
    await see('No skills are assigned to you.');
    await see('No agents.');
  });

  test('a skill shows its contract when it is opened', async () => {
    const skill = itemOf('skills.list', {
      name: 'translate',
      version: '1.0.0',
      protocol: 'mcp',
      status: 'deprecated',
      description: `Translates into French ${evil}`,
      riskLevel: 'high',
    });
    await open('/skills', { answers: { 'skills.list': pageOf(skill) } });
    const summary = await find('summary', 'translate 1.0.0 deprecated mcp');
    notSeen('Translates into French');
    summary.click();
    await settled();
    await see(`Translates into French ${evil}`);
    await see('risk\nhigh');
    assert.equal(document.querySelector('img'), null);
  });

  test('a tool shows whether it is available, and why not', async () => {
    const page = exampleOf('tools.list');
    const [tool] = page.items;
    assert.ok(tool);
    await open('/skills', {
      answers: {
        'tools.list': {
          ...page,
          items: [
            { ...tool, id: 't1', name: 'One', visible: true },
            { ...tool, id: 't2', name: 'Two', visible: false, reason: 'skill_disabled' },
            { ...tool, id: 't3', name: 'Three', visible: false, reason: 'not_granted_by_child_handle' },
          ],
        },
      },
    });
    await see(/One .*available/);
    await see(/Two .*disabled/);
    await see(/Three .*not granted by child handle/);
  });

  test('a registered agent is shown with its revision and state', async () => {
    const agent = (other: object) =>
      itemOf('agents.list', {
        key: 'desk',
        displayName: '',
        status: 'active',
        state: 'running',
        replicas: 2,
        currentRevision: 7,
        ...other,
      });
    await open('/skills', {
      answers: {
        'agents.list': pageOf(
          agent({ id: 'a1' }),
          agent({ id: 'a2', displayName: 'Old desk', status: 'retired', replicas: 0 }),
        ),
      },
    });
    await see(/desk desk\s*revision 7\s*running · 2/);
    await see(/Old desk desk\s*revision 7\s*retired/);
  });

  test('each part is shown to those with its permission', async () => {
    const service = await open('/skills', { me: { permissions: [] } });
    await see('You need the permission org.read. Contact an administrator.');
    await see('Your tools require the permission tasks.read.');
    await see('Registered agents require the permission agents.read.');
    assert.deepEqual(
      service.asked.map(({ name }) => name).filter((name) => /^(skills|tools|agents)/.test(name)),
      [],
    );
  });

  test("a part that can't be read doesn't affect the others", async () => {
    await open('/skills', { answers: { 'tools.list': new Refusal(403, 'permission_denied', 'Not these.') } });
    await see('Not these.\npermission_denied · req_test');
    await see('No skills yet');
  });
});
