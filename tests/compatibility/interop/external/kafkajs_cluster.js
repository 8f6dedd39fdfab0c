// kafkajs 2.2, unmodified, in a cluster of three whose leaders move and whose coordinators die meanwhile; prints one JSON
// object with what each flow saw. CONTROL takes deeds over HTTP. Run by test_three_nodes.py.
const { Kafka, logLevel } = require('kafkajs')

const [, , brokers, control, suffix] = process.argv
const kafka = new Kafka({ clientId: 'cluster', brokers: brokers.split(','), logLevel: logLevel.NOTHING,
                          retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 60 } })
const admin = kafka.admin()
const until = async (condition, what) => {
  const end = Date.now() + 90000
  while (!await condition()) {
    if (Date.now() > end) throw new Error(`timed out: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
const deed = async text => {
  const answer = await fetch(`http://${control}/deeds`, { method: 'POST', body: JSON.stringify({ deed: text }) })
  if (!answer.ok) throw new Error(await answer.text())
}
const make = async (name, numPartitions) => {
  const topic = `${name}-${suffix}`
  await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions, replicationFactor: 3 }] })
  return topic
}
const leaderOf = async (topic, partition = 0) => {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  return topics[0].partitions.find(p => p.partitionId === partition).leader
}
const read = async (topic, readUncommitted, count) => {
  const consumer = kafka.consumer({ groupId: `read-${topic}`, readUncommitted, maxWaitTimeInMs: 100 })
  const values = []
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({ eachMessage: async ({ message }) => { values.push(message.value.toString()) } })
  await until(() => values.length >= count, `${count} records of ${topic}`)
  await consumer.disconnect()
  return values
}

const flows = {
  async leader_moves() {
    const topic = await make('moves', 1)
    const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    for (let i = 0; i < 12; i++) {
      await producer.send({ topic, messages: [{ value: `${i}` }] })
      await deed(`move_leader ${topic} 0 ${1 + (await leaderOf(topic)) % 3}`)
    }
    await producer.disconnect()
    return read(topic, false, 12)
  },
  async leader_dies() {
    const topic = await make('dies', 1)
    const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    for (let i = 0; i < 6; i++) {
      const leader = await leaderOf(topic)
      const sent = producer.send({ topic, messages: [{ value: `${i}` }] })
      await deed(`kill_node ${leader}`)
      await sent
      await deed(`start_node ${leader}`)
    }
    await producer.disconnect()
    return read(topic, false, 6)
  },
  async group_coordinator_moves() {
    const topic = await make('group', 3), groupId = `group-${suffix}`
    const producer = kafka.producer()
    await producer.connect()
    const consumer = kafka.consumer({ groupId, heartbeatInterval: 200, maxWaitTimeInMs: 100 })
    const seen = []
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({ eachMessage: async ({ message }) => { seen.push(message.value.toString()) } })
    for (let i = 0; i < 9; i++) {
      await deed(`move_coordinator ${1 + i % 3} ${groupId}`)
      await producer.send({ topic, messages: [{ value: `${i}`, partition: i % 3 }] })
      await until(() => seen.includes(`${i}`), `record ${i}`)
    }
    await consumer.disconnect()
    await producer.disconnect()
    return [...new Set(seen)].sort()
  },
  async transactions_while_coordinators_move() {
    const topic = await make('txn', 3), transactionalId = `txn-${suffix}`
    const producer = kafka.producer({ transactionalId, maxInFlightRequests: 1, idempotent: true })
    await producer.connect()
    for (let i = 0; i < 9; i++) {
      const transaction = await producer.transaction()
      // One at a time: kafkajs forgets the messages of a partition whose new leader has answered for another one before.
      for (const partition of [0, 1, 2]) await transaction.send({ topic, messages: [{ value: `${i}`, partition }] })
      await deed(`move_coordinator ${1 + i % 3} transactional_id=${transactionalId}`)
      await deed(`move_leader ${topic} ${i % 3} ${1 + (await leaderOf(topic, i % 3)) % 3}`)
      await (i % 3 ? transaction.commit() : transaction.abort())
    }
    await producer.disconnect()
    return (await read(topic, false, 18)).sort()
  },
}

;(async () => {
  const seen = {}
  await admin.connect()
  for (const [name, flow] of Object.entries(flows)) {
    try { seen[name] = await flow() } catch (error) { seen[name] = { error: `${error.stack}` } }
  }
  process.stdout.write(JSON.stringify(seen))
  process.exit(0)
})()
