// Flows of kafkajs 2.2, unmodified; prints one JSON object with what each flow saw. Run by test_external_clients.py.
const { Kafka, logLevel, CompressionTypes } = require('kafkajs')

const fs = require('fs')
const [, , broker, suffix] = process.argv
const { FLOWS_CA, FLOWS_USER, FLOWS_PASSWORD } = process.env
const login = FLOWS_CA && {
  ssl: { ca: [fs.readFileSync(FLOWS_CA, 'utf-8')] },
  sasl: { mechanism: 'scram-sha-256', username: FLOWS_USER, password: FLOWS_PASSWORD },
}
const kafka = new Kafka({ clientId: 'flows', brokers: broker.split(','), logLevel: logLevel.ERROR, ...login })
const seen = {}
const until = async (condition, what) => {
  const end = Date.now() + 30000
  while (!condition()) {
    if (Date.now() > end) throw new Error(`timed out: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
const read = async (topic, readUncommitted, count) => {
  const consumer = kafka.consumer({ groupId: `read-${topic}-${readUncommitted}`, readUncommitted, maxWaitTimeInMs: 100 })
  const values = []
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({ eachMessage: async ({ message }) => { values.push(message.value.toString()) } })
  await until(() => values.length >= count, `${count} records of ${topic}`)
  await consumer.disconnect()
  return values.sort()
}

const flows = {
  async idempotent_produce() {
    const topic = `idempotent-${suffix}`
    const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    for (let i = 0; i < 5; i++) {
      await producer.send({ topic, compression: i % 2 ? CompressionTypes.GZIP : CompressionTypes.None,
                            messages: [{ key: `${i}`, value: `${i}`, headers: { h: 'x' } }] })
    }
    await producer.disconnect()
    return read(topic, false, 5)
  },
  async rebalance() {
    const topic = `rebalance-${suffix}`
    const admin = kafka.admin()
    await admin.connect()
    await admin.createTopics({ topics: [{ topic, numPartitions: 4 }] })
    await admin.disconnect()
    const assigned = {}
    const members = await Promise.all(['a', 'b'].map(async name => {
      const consumer = kafka.consumer({ groupId: `rebalance-${suffix}`, heartbeatInterval: 200, maxWaitTimeInMs: 100 })
      consumer.on(consumer.events.GROUP_JOIN, e => { assigned[name] = e.payload.memberAssignment[topic] || [] })
      await consumer.connect()
      await consumer.subscribe({ topic, fromBeginning: true })
      await consumer.run({ eachMessage: async () => {} })
      return consumer
    }))
    await until(() => Object.values(assigned).length === 2 && Object.values(assigned).every(p => p.length === 2), 'two each')
    await members[0].disconnect()
    await until(() => assigned.b.length === 4, 'all four')
    await members[1].disconnect()
    return assigned.b.slice().sort()
  },
  async transactions() {
    const topic = `txn-${suffix}`
    const producer = kafka.producer({ transactionalId: `txn-${suffix}`, maxInFlightRequests: 1, idempotent: true })
    await producer.connect()
    const committed = await producer.transaction()
    await committed.send({ topic, messages: [{ value: 'committed' }] })
    await committed.commit()
    const aborted = await producer.transaction()
    await aborted.send({ topic, messages: [{ value: 'aborted' }] })
    await aborted.abort()
    const last = await producer.transaction()
    await last.send({ topic, messages: [{ value: 'last' }] })
    await last.commit()
    await producer.disconnect()
    return { committed: await read(topic, false, 2), all: await read(topic, true, 3) }
  },
  async consume_transform_produce() {
    const source = `in-${suffix}`, target = `out-${suffix}`, groupId = `ctp-${suffix}`
    const plain = kafka.producer()
    await plain.connect()
    await plain.send({ topic: source, messages: [{ value: 'a' }, { value: 'b' }] })
    await plain.disconnect()
    const producer = kafka.producer({ transactionalId: `ctp-${suffix}`, maxInFlightRequests: 1, idempotent: true })
    await producer.connect()
    const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100 })
    await consumer.connect()
    await consumer.subscribe({ topic: source, fromBeginning: true })
    let done = 0
    await consumer.run({ autoCommit: false, eachMessage: async ({ topic, partition, message }) => {
      const transaction = await producer.transaction()
      await transaction.send({ topic: target, messages: [{ value: message.value.toString().toUpperCase() }] })
      await transaction.sendOffsets({ consumerGroupId: groupId, topics: [
        { topic, partitions: [{ partition, offset: (Number(message.offset) + 1).toString() }] }] })
      await transaction.commit()
      done++
    } })
    await until(() => done === 2, 'two transformed')
    await consumer.disconnect()
    await producer.disconnect()
    const admin = kafka.admin()
    await admin.connect()
    const offsets = await admin.fetchOffsets({ groupId, topics: [source] })
    await admin.disconnect()
    const sum = offsets[0].partitions.reduce((total, p) => total + Math.max(0, Number(p.offset)), 0)
    return { out: await read(target, false, 2), offset: sum }
  },
  async zombie() {
    const topic = `zombie-${suffix}`, transactionalId = `zombie-${suffix}`
    const make = () => kafka.producer({ transactionalId, maxInFlightRequests: 1, idempotent: true, retry: { retries: 2 } })
    const old = make()
    await old.connect()
    const open = await old.transaction()
    await open.send({ topic, messages: [{ value: 'zombie' }] })
    const fresh = make()
    await fresh.connect()
    let transaction
    await until(() => { if (!transaction) { transaction = 'wait'; fresh.transaction().then(t => { transaction = t }, () => { transaction = undefined }) }
                        return transaction && transaction !== 'wait' }, 'the take-over')
    await transaction.send({ topic, messages: [{ value: 'fresh' }] })
    await transaction.commit()
    let fenced = 'not fenced'
    try { await open.commit() } catch (error) { fenced = error.type || error.name }
    await fresh.disconnect()
    await old.disconnect()
    return { fenced, committed: await read(topic, false, 1) }
  },
}

;(async () => {
  for (const [name, flow] of Object.entries(flows)) {
    try { seen[name] = await flow() } catch (error) { seen[name] = { error: `${error.stack}` } }
  }
  process.stdout.write(JSON.stringify(seen))
  process.exit(0)
})()
