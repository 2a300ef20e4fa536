/** A task of the live demo. */
export interface LiveTask {
  readonly key: string;
  readonly title: string;
  readonly description: string;
  readonly priority: 'critical' | 'high' | 'medium' | 'low';
  /** Keys of the tasks that must be done before it. */
  readonly after: readonly string[];
  /** The approval that the agent requests from the visitor. */
  readonly question?: string;
  /** The agent's progress reports, one sentence per step. */
  readonly steps: readonly string[];
  /** The file that the agent delivers. */
  readonly artifact?: LiveArtifact;
  /** The commit hash in the agent's result. */
  readonly commit?: string;
}

export interface LiveArtifact {
  readonly name: string;
  readonly mediaType: string;
  readonly text: string;
}

/** The work of a small team that adds a new checkout to its shop, in an order in which it can be done. */
export const liveBacklog: readonly LiveTask[] = [
  {
    key: 'wishes',
    title: 'Collect the requests of customers since spring',
    description: 'Read the mails about the checkout and list the repeated requests.',
    priority: 'critical',
    after: [],
    steps: ['Read 212 mails.', 'Grouped them by wish.', 'The five most frequent wishes are listed.'],
    artifact: {
      name: 'wishes.csv',
      mediaType: 'text/csv',
      text: 'wish,mails\nPay without an account,61\nSee the tax before paying,44\nPay in two clicks,38\nA receipt by e-mail,27\n"A page in French, too",19\n',
    },
  },
  {
    key: 'vouchers',
    title: 'Delete vouchers that nobody can use any more',
    description: 'Vouchers of the shop that was closed in 2023 are still in the database.',
    priority: 'critical',
    after: [],
    steps: ['Counted 1,940 old vouchers.', 'Deleted them.', 'No order refers to one of them.'],
  },
  {
    key: 'returns',
    title: 'Write the help page about returns',
    description: 'One page: how long, how, who pays.',
    priority: 'low',
    after: [],
    steps: ['Read the terms of sale.', 'Wrote the page.', 'It has 240 words.'],
    artifact: {
      name: 'returns.md',
      mediaType: 'text/markdown',
      text: '# Returns\n\nYou can return everything within **30 days**.\n\n1. Print the label in *Your orders*.\n2. Bring the parcel to any post office.\n\n| Item | Who pays |\n|---|---|\n| damaged | the shop |\n| changed your mind | you |\n',
    },
  },
  {
    key: 'libraries',
    title: 'Update the libraries of the shop',
    description: 'Eleven libraries have a newer version; two of them close a security issue.',
    priority: 'medium',
    after: [],
    steps: ['Updated eleven libraries.', 'The tests pass.', 'No security issue is open.'],
    artifact: {
      name: 'tests.log',
      mediaType: 'text/plain',
      text: '\u001b[1mnpm test\u001b[0m\n\u001b[32m✔\u001b[0m basket (41 tests)\n\u001b[32m✔\u001b[0m orders (112 tests)\n\u001b[33m!\u001b[0m payment: 1 test is slow (2.1 s)\n\u001b[32m✔\u001b[0m payment (58 tests)\n\u001b[1;32m211 passed\u001b[0m, 0 failed\n',
    },
    commit: '7c41e0b92d',
  },
  {
    key: 'behaviour',
    title: 'Write down how the new checkout behaves',
    description: 'Every step, every error, and what a customer sees when the payment fails.',
    priority: 'high',
    after: ['wishes'],
    steps: ['Described the four steps.', 'Described what happens when a payment fails.'],
  },
  {
    key: 'tax',
    title: 'Compute the tax for six countries',
    description: 'Germany, France, Austria, Belgium, Italy and Spain.',
    priority: 'high',
    after: ['behaviour'],
    question: 'May I use the tax rates of 1 January, although they are not in force yet?',
    steps: [
      'Compared the rates of six countries.',
      'Wrote the table of rates.',
      '48 examples come out right.',
    ],
    artifact: {
      name: 'rates.json',
      mediaType: 'application/json',
      text: '{"from":"2027-01-01","rates":{"AT":20,"BE":21,"DE":19,"ES":21,"FR":20,"IT":22}}',
    },
  },
  {
    key: 'page',
    title: 'Build the checkout page',
    description: 'One page with address, delivery and payment, as described.',
    priority: 'high',
    after: ['behaviour'],
    steps: ['Address and delivery are complete.', 'Payment is complete.', 'It works without a mouse.'],
  },
  {
    key: 'cards',
    title: 'Charge cards in the test environment',
    description: 'Success, rejection, and a bank that requires a confirmation.',
    priority: 'high',
    after: ['behaviour'],
    steps: ['A card is charged.', 'A rejected card is reported.', 'A confirmation by the bank works.'],
    artifact: {
      name: 'charge.diff',
      mediaType: 'text/x-diff',
      text: "--- a/src/payment/charge.ts\n+++ b/src/payment/charge.ts\n@@ -12,3 +12,5 @@ export async function charge(order: Order) {\n   const result = await bank.charge(order.total);\n-  return result.ok;\n+  if (result.code === 'confirmation_required') return confirm(order, result.url);\n+  if (!result.ok) throw new CardRejected(result.reason);\n+  return result.receipt;\n }\n",
    },
    commit: 'a90f3d51c7',
  },
  {
    key: 'receipt',
    title: 'Send the receipt by e-mail',
    description: 'With the tax of each item.',
    priority: 'medium',
    after: ['cards'],
    steps: ['Wrote the mail.', 'It shows the tax of each item.'],
  },
  {
    key: 'translate',
    title: 'Translate the checkout to German and French',
    description: 'Every text, errors included.',
    priority: 'medium',
    after: ['page'],
    steps: ['German is complete.', 'French is complete.', 'No text is cut off.'],
  },
  {
    key: 'reader',
    title: 'Try the checkout with a screen reader',
    description: 'From the basket to the receipt, without sight of the screen.',
    priority: 'medium',
    after: ['page'],
    steps: ['Came through to the payment.', 'Gave two fields a label.', 'Came through to the receipt.'],
  },
  {
    key: 'speed',
    title: 'Measure how fast the checkout opens',
    description: 'On a slow phone, with an empty cache.',
    priority: 'low',
    after: ['page'],
    steps: ['Measured 20 openings.', 'Half of them take less than 1.1 s.'],
  },
  {
    key: 'terms',
    title: 'Show the terms of sale before the payment',
    description: 'With the date from which they count.',
    priority: 'medium',
    after: ['page', 'returns'],
    steps: ['The terms are shown.', 'The date is above them.'],
  },
  {
    key: 'publish',
    title: 'Publish version 1.4 of the shop',
    description: 'Everything before it is done, and a person has approved it.',
    priority: 'critical',
    after: ['tax', 'receipt', 'translate', 'reader', 'terms', 'libraries'],
    question: 'All checks pass. May I publish version 1.4 to every customer?',
    steps: ['Built version 1.4.', 'Every check passes.', 'Version 1.4 is published.'],
  },
  {
    key: 'tell',
    title: 'Announce the new checkout to customers',
    description: 'Three sentences for the newsletter.',
    priority: 'low',
    after: ['publish'],
    steps: ['Wrote three sentences.', 'Handed them to the newsletter.'],
  },
];

/** The task on which one agent stalls. */
export const stalledTaskKey = 'vouchers';
