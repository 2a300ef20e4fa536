/** The slug of the role that every task of a demo requires. Each demo makes it in its own workspace, and gives it to its agents. */
export const demoRole = 'demo-agent';
